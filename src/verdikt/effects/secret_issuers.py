"""Who issues which kind of secret, and at which domains: a key may go there and nowhere else."""

_DOMAIN_TEXTS = {
    "github": "github.com githubusercontent.com ghcr.io githubcopilot.com",
    "gitlab": "gitlab.com",
    "bitbucket": "bitbucket.org",
    "atlassian": "atlassian.net atlassian.com bitbucket.org",
    "npm": "npmjs.org npmjs.com",
    "pypi": "pypi.org",
    "rubygems": "rubygems.org",
    "crates": "crates.io",
    "nuget": "nuget.org",
    "docker": "docker.com docker.io",
    "aws": "amazonaws.com aws.amazon.com aws.dev api.aws",
    "google": "googleapis.com google.com gcr.io pkg.dev run.app",
    "azure": "azure.com windows.net microsoft.com microsoftonline.com visualstudio.com azure.net",
    "digitalocean": "digitalocean.com digitaloceanspaces.com",
    "alibaba": "aliyuncs.com",
    "heroku": "heroku.com",
    "fly": "fly.io fly.dev machines.dev",
    "netlify": "netlify.com",
    "vercel": "vercel.com vercel.app",
    "supabase": "supabase.co supabase.com",
    "planetscale": "planetscale.com psdb.cloud",
    "databricks": "databricks.com azuredatabricks.net",
    "anthropic": "anthropic.com claude.ai",
    "openai": "openai.com openrouter.ai azure.com",
    "huggingface": "huggingface.co hf.co hf.space",
    "groq": "groq.com",
    "xai": "x.ai",
    "perplexity": "perplexity.ai",
    "replicate": "replicate.com",
    "langsmith": "langchain.com",
    "fireworks": "fireworks.ai",
    "slack": "slack.com",
    "discord": "discord.com discordapp.com",
    "telegram": "telegram.org",
    "teams": "office.com",
    "sendgrid": "sendgrid.com",
    "mailgun": "mailgun.net mailgun.org",
    "mailchimp": "mailchimp.com",
    "sendinblue": "brevo.com sendinblue.com",
    "twilio": "twilio.com",
    "stripe": "stripe.com",
    "square": "squareup.com squareupsandbox.com",
    "shopify": "shopify.com myshopify.com",
    "braintree": "braintreegateway.com braintree-api.com",
    "plaid": "plaid.com",
    "terraform": "terraform.io",
    "pulumi": "pulumi.com",
    "doppler": "doppler.com",
    "1password": "1password.com",
    "linear": "linear.app",
    "notion": "notion.com notion.so",
    "figma": "figma.com",
    "postman": "getpostman.com postman.com",
    "contentful": "contentful.com",
    "newrelic": "newrelic.com nr-data.net",
    "grafana": "grafana.com grafana.net",
    "sentry": "sentry.io",
    "dynatrace": "dynatrace.com",
    "tailscale": "tailscale.com",
    "easypost": "easypost.com",
    "facebook": "facebook.com instagram.com",
    "mapbox": "mapbox.com",
    "private": "",
    "age": "",
}
"""First word of a kind of secret → domains of its issuer. Kinds that many issuers share are not among them."""
ISSUER_DOMAINS = {name: tuple(domains.split()) for name, domains in _DOMAIN_TEXTS.items()}
VARIABLE_ISSUERS = {"GH": "github", "HF": "huggingface", "CLAUDE": "anthropic", "GCP": "google", "GCLOUD": "google"}
"""First word of a variable → the issuer that it stands for."""
LISTED_DOMAINS = tuple(
    "github.com githubusercontent.com gitlab.com bitbucket.org npmjs.org npmjs.com pypi.org pythonhosted.org crates.io "
    "rust-lang.org golang.org go.dev docs.rs readthedocs.io python.org nodejs.org mozilla.org stackoverflow.com "
    "wikipedia.org debian.org ubuntu.com docker.com docker.io microsoft.com google.com googleapis.com anthropic.com "
    "openai.com rubygems.org maven.org apache.org kubernetes.io".split()
)
"""Domains to which ordinary requests go."""
