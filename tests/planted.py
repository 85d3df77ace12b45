"""One secret of every format that `secret_format` knows, generated from a fixed seed: none was ever issued."""

import random
import re
import string

_RNG = random.Random(20261115)
_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "W": string.ascii_letters + string.digits + "_-",
    "U": string.ascii_uppercase + "234567",
    "H": "0123456789abcdef",
    "D": "123456789",
    "B": string.ascii_letters + string.digits + "+/",
    "L": string.ascii_lowercase + string.digits,
}


def fill_template(template: str) -> str:
    """Return the template with each `{A36}` replaced by 36 random characters of the alphabet `A`."""

    def draw_characters(match: re.Match[str]) -> str:
        return "".join(_RNG.choices(_ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"\{([A-Z])(\d+)\}", draw_characters, template)


_TEMPLATES = {
    "github-token": ["ghp_{A36}", "gho_{A36}", "ghu_{A36}", "ghs_{A36}", "ghr_{A36}", "github_pat_{A22}_{A59}"],
    "gitlab-token": ["glpat-{W20}a", "gldt-{A20}", "glrt-{A20}", "glsoat-{A24}"],
    "bitbucket-token": ["ATBB{A32}"],
    "atlassian-token": ["ATATT3{W80}a"],
    "npm-token": ["npm_{A36}", "//registry.npmjs.org/:_authToken={H8}-{H4}-{H4}-{H4}-{H12}"],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc{W80}a", "pypi-AgENdGVzdC5weXBpLm9yZw{W80}a"],
    "rubygems-token": ["rubygems_{H48}"],
    "crates-token": ["cio{A32}"],
    "nuget-key": ["oy2{L43}"],
    "docker-token": ["dckr_pat_{W27}a"],
    "artifactory-token": ["AKCp{A60}", "cmVmdGtuOj{A50}"],
    "artifactory-password": ["AP3a1{A30}"],
    "aws-access-key": ["AKIA{U16}", "ASIA{U16}"],
    "aws-session-token": ["IQoJb3JpZ2lu{B200}"],
    "aws-bedrock-key": ["ABSK{A120}"],
    "google-api-key": ["AIza{W34}a"],
    "google-token": ["ya29.{W60}a"],
    "google-secret": ["GOCSPX-{W27}a"],
    "google-refresh-token": ["1//0{W60}a"],
    "azure-storage-key": ["AccountKey={B86}=="],
    "azure-sas": ["?sv=1&sig={A42}%3D"],
    "azure-secret": ["{A3}8Q~{A34}"],
    "azure-devops-token": ["{A76}AZDO{A4}"],
    "digitalocean-token": ["dop_v1_{H64}", "doo_v1_{H64}"],
    "alibaba-key": ["LTAI{A20}"],
    "heroku-key": ["HRKU-{W59}a"],
    "fly-token": ["FlyV1 fm2_{A60}"],
    "netlify-token": ["nfp_{A36}"],
    "vercel-token": ["vcp_{A40}"],
    "supabase-key": ["sbp_{H40}", "sb_secret_{W30}a"],
    "planetscale-token": ["pscale_tkn_{W43}a"],
    "databricks-token": ["dapi{H32}"],
    "ibm-softlayer-key": ["https://api.softlayer.com/soap/v3/{L64}"],
    "anthropic-key": ["sk-ant-api03-{W90}a"],
    "openai-key": ["sk-proj-{A60}", "sk-{A20}T3BlbkFJ{A20}", "sk-{A48}", "sk-svcacct-{A20}T3BlbkFJ{A20}"],
    "huggingface-token": ["hf_{A34}"],
    "groq-key": ["gsk_{A52}"],
    "xai-key": ["xai-{A80}"],
    "perplexity-key": ["pplx-{A48}"],
    "replicate-token": ["r8_{A37}"],
    "langsmith-key": ["lsv2_pt_{H32}_{H10}"],
    "fireworks-key": ["fw_{A24}"],
    "slack-token": ["xoxb-{D12}-{D12}-{A24}", "xoxp-{D12}-{D12}-{D12}-{H32}", "xapp-1-{U11}-{D13}-{H64}"],
    "slack-webhook": ["https://hooks.slack.com/services/T{U8}/B{U8}/{A24}"],
    "discord-token": ["MT{A22}.{A6}.{A27}", "Nz{A24}.{A6}.{A38}"],
    "discord-webhook": ["https://discord.com/api/webhooks/{D18}/{W67}a"],
    "telegram-token": ["{D9}:AA{A33}"],
    "teams-webhook": ["https://acme.webhook.office.com/webhookb2/{A40}@{A36}/IncomingWebhook/{A32}"],
    "sendgrid-key": ["SG.{A22}.{A43}"],
    "mailgun-key": ["key-{H32}"],
    "mailchimp-key": ["{H32}-us12"],
    "sendinblue-key": ["xkeysib-{H64}-{A16}"],
    "twilio-key": ["SK{H32}"],
    "stripe-key": ["sk_live_{A24}", "rk_live_{A24}", "sk_test_{A24}"],
    "stripe-webhook": ["whsec_{A32}"],
    "square-token": ["sq0csp-{W42}a", "sq0atp-{W22}a", "EAAA{W59}a"],
    "shopify-token": ["shpat_{H32}"],
    "braintree-token": ["access_token$production${L16}${H32}"],
    "plaid-token": ["access-sandbox-{H8}-{H4}-{H4}-{H4}-{H12}"],
    "vault-token": ["hvs.{A90}"],
    "terraform-token": ["{A14}.atlasv1.{W60}a"],
    "pulumi-token": ["pul-{H40}"],
    "doppler-token": ["dp.pt.{A43}"],
    "1password-token": ["ops_eyJ{A200}"],
    "age-key": ["AGE-SECRET-KEY-1{U58}"],
    "linear-key": ["lin_api_{A40}"],
    "notion-token": ["ntn_{A46}", "secret_{A43}"],
    "figma-token": ["figd_{W40}a"],
    "postman-key": ["PMAK-{H24}-{H34}"],
    "contentful-token": ["CFPAT-{W43}"],
    "newrelic-key": ["NRAK-{U27}"],
    "grafana-token": ["glsa_{A32}_{H8}", "glc_{A60}"],
    "sentry-token": ["sntrys_{A80}", "sntryu_{H64}"],
    "dynatrace-token": ["dt0c01.{U24}.{U64}"],
    "tailscale-key": ["tskey-auth-{A20}-{A32}"],
    "easypost-key": ["EZAK{A54}"],
    "facebook-token": ["EAAC{A120}"],
    "mapbox-token": ["sk.eyJ{A60}.{A22}"],
    "jwt": ["eyJ{A33}.eyJ{A60}.{W42}a", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{A43}"],
    "url-password": ["https://bob:{A16}@host/x"],
}

PLANTED: list[tuple[str, str]] = [
    (kind, fill_template(template)) for kind, rows in _TEMPLATES.items() for template in rows
]
"""Kind and secret; where a format has text around the secret, the whole text."""

PEM = fill_template("-----BEGIN RSA PRIVATE KEY-----\n" + "{B64}\n" * 12 + "{B20}9==\n-----END RSA PRIVATE KEY-----")
"""A private key that belongs to no certificate."""
