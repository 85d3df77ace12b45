// Written by `verdikt init`. OpenCode calls this before and after every tool, and runs no tool for which it throws.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"

// The wrapper and the hook on this machine; empty in a plugin that a team commits, which looks for the launcher.
const GUARD = ["verdikt-guard"]
const HOOK = ["verdikt-hook"]
const MISSING = "verdikt-missing"
const MILLISECONDS = 30000

// The data directory comes before PATH: an agent can't write there.
function findLauncher() {
  const shared = process.env.XDG_DATA_HOME || `${homedir()}/.local/share`
  const launcher = `${process.env.VERDIKT_HOME || `${shared}/verdikt`}/hooks/verdikt-launch`
  return existsSync(launcher) ? launcher : "verdikt-launch"
}

function buildCommand(event, mode) {
  return GUARD.length ? [...GUARD, mode, ...HOOK, event] : [findLauncher(), mode, "opencode", event]
}

// Resolves to the answer or rejects. No answer is a block where the agent is about to act, and no opinion elsewhere.
function ask(event, mode, payload) {
  return new Promise((resolve, reject) => {
    const fail = (what) => {
      if (mode === "open") resolve({})
      else reject(new Error(`[verdikt] ${what}`))
    }
    const [program, ...words] = buildCommand(event, mode)
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "pipe"] })
    const output = { stdout: "", stderr: "" }
    const timer = setTimeout(() => child.kill("SIGKILL"), MILLISECONDS)
    child.stdout.on("data", (data) => (output.stdout += data))
    child.stderr.on("data", (data) => (output.stderr += data))
    child.stdin.on("error", () => {})
    child.on("error", () => fail(GUARD.length ? "blocked, because the hook could not be started" : MISSING))
    child.on("close", (code) => {
      clearTimeout(timer)
      let document
      try {
        document = JSON.parse(output.stdout)
      } catch {
        fail("blocked, because the hook did not answer with one decision")
        return
      }
      if (code !== 0 || document.decision === "block") reject(new Error(document.reason || "[verdikt] blocked"))
      else resolve(document)
    })
    child.stdin.end(JSON.stringify({ ev: event, ...payload }))
  })
}

// Shows the person what the model need not answer: in the terminal interface, and in OpenCode's log for `opencode run`.
async function notify(client, message) {
  const toast = { title: "verdikt", message, variant: "warning", duration: 20000 }
  await Promise.allSettled([
    client?.tui?.showToast?.({ body: toast }),
    client?.app?.log?.({ body: { service: "verdikt", level: "warn", message } }),
  ])
}

export const Verdikt = async ({ directory, client }) => {
  const messages = new Map()
  return {
    "chat.message": async (input, output) => {
      await ask("chat.message", "open", { input, parts: output.parts, directory })
    },
    "tool.execute.before": async (input, output) => {
      await ask("tool.execute.before", "closed", { input, output: { args: output.args }, directory })
    },
    "tool.execute.after": async (input, output) => {
      const payload = { input, output: { output: output.output, metadata: output.metadata }, directory }
      try {
        const { context } = await ask("tool.execute.after", "open", payload)
        if (context) output.output = `${output.output}\n${context}`
      } catch (refusal) {
        output.output = `${output.output}\n${refusal.message}`
      }
    },
    event: async ({ event }) => {
      const properties = event.properties || {}
      if (event.type === "session.created") {
        const sessionID = properties.sessionID || properties.info?.id
        await ask(event.type, "open", { properties: { sessionID }, directory }).catch(() => {})
      }
      if (event.type === "message.part.updated" && properties.part?.type === "text")
        messages.set(properties.part.sessionID, properties.part.text)
      if (event.type !== "session.idle") return
      const message = messages.get(properties.sessionID)
      try {
        const { context } = await ask("session.idle", "open", { properties, message, directory })
        if (context) await notify(client, context)
      } catch (refusal) {
        // OpenCode cannot be kept from stopping, but it can be asked to go on.
        const body = { parts: [{ type: "text", text: refusal.message }] }
        await client?.session?.prompt?.({ path: { id: properties.sessionID }, body })
      }
    },
  }
}
