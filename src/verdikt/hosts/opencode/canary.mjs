// Loads the plugin as OpenCode does and hands it the call on stdin: node canary.mjs verdikt.js
import { readFileSync } from "node:fs"

const respond = (document, code) => {
  process.stdout.write(JSON.stringify(document) + "\n")
  process.exit(code)
}
try {
  const text = readFileSync(process.argv[2])
  const { Verdikt } = await import("data:text/javascript;base64," + text.toString("base64"))
  const { input, output, directory } = JSON.parse(readFileSync(0))
  const hooks = await Verdikt({ directory })
  // OpenCode already runs when it calls the plugin, so the start of node is not counted.
  const start = performance.now()
  const milliseconds = () => performance.now() - start
  try {
    await hooks["tool.execute.before"](input, output)
    respond({ milliseconds: milliseconds() }, 0)
  } catch (refusal) {
    process.stderr.write(refusal.message + "\n")
    respond({ decision: "block", reason: refusal.message, milliseconds: milliseconds() }, 2)
  }
} catch (error) {
  process.stderr.write(`the plugin did not work: ${error.message}\n`)
  respond({ decision: "block", reason: `the plugin did not work: ${error.message}` }, 2)
}
