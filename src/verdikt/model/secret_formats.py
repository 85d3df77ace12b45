"""The formats of issued secrets: one row per issuer, as the issuers publish it."""

from __future__ import annotations

from verdikt.knowledge import list_secret_arguments

# A key ends where its lines stop looking like base64, so that no command can hide between BEGIN and END.
_NEWLINE = r"(?:\r?\n|(?:\\+r)?\\+n)[ \t]{0,8}"
_LINE = r"(?:[ \t]{0,8}(?:\r?\n|(?:\\+r)?\\+n)[ \t]{0,8}| )"
_BODY = (
    rf"((?:[A-Za-z0-9+/=]{{16,}}{_LINE})*[A-Za-z0-9+/=]{{16,}}(?:{_LINE}=?[A-Za-z0-9+/]*[A-Z0-9+/=][A-Za-z0-9+/=]*)?)"
)
_PEM = (
    r"-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}"
    rf"(?:{_NEWLINE}[A-Z][A-Za-z-]{{3,20}}: [^\n\\]{{0,200}}){{0,10}}{_LINE}{{1,3}}{_BODY}"
)
_PUTTY = rf"Private-Lines: \d+{_LINE}{_BODY}"

SECRET_FORMATS: tuple[tuple[str, str, str], ...] = (
    # kind, literals separated by `|` of which every match holds one, pattern. A group marks the secret when it is not
    # the whole match. The literal is looked for first, at next to no cost; the pattern is compiled only if it occurs.
    # Code hosts and package registries
    ("github-token", "ghp_", r"ghp_\w{36,255}"),
    ("github-token", "gho_", r"gho_\w{36,255}"),
    ("github-token", "ghu_", r"ghu_\w{36,255}"),
    ("github-token", "ghs_", r"ghs_\w{36,255}"),
    ("github-token", "ghr_", r"ghr_\w{36,255}"),
    ("github-token", "github_pat_", r"github_pat_\w{22,255}"),
    (
        "gitlab-token",
        "glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glimt-|glagent-|gloas-|glsoat-|glwt-|glffct-",
        r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|wt|ffct)-[A-Za-z0-9_.-]{20,200}",
    ),
    ("bitbucket-token", "ATBB", r"(?<![A-Za-z0-9])ATBB[A-Za-z0-9]{28,}"),
    ("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("npm-token", "_authToken", r"_authToken=\s{0,4}[\"']?([A-Za-z0-9_.-]{20,})"),
    ("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{50,}"),
    ("rubygems-token", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    ("crates-token", "cio", r"(?<![A-Za-z0-9])cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("nuget-key", "oy2", r"(?<![A-Za-z0-9])oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("docker-token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("artifactory-token", "AKC", r"(?<![A-Za-z0-9+/])AKC[A-Za-z0-9]{10,}(?![A-Za-z0-9+/_-])"),
    ("artifactory-token", "cmVmdGtuOj", r"(?<![A-Za-z0-9])cmVmdGtuOj[A-Za-z0-9]{40,}"),
    (
        "artifactory-password",
        "AP",
        r"(?<![A-Za-z0-9+/_.-])AP[0-9A-F](?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[a-z])[A-Za-z0-9]{20,}(?![A-Za-z0-9+/_.-])",
    ),
    # Clouds
    (
        "aws-access-key",
        "AKIA|ASIA|ABIA|ACCA|A3T",
        r"(?<![A-Za-z0-9+/])(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9+/])",
    ),
    ("aws-session-token", "IQoJb3JpZ2lu", r"IQoJb3JpZ2lu[A-Za-z0-9+/=]{80,}"),
    ("aws-bedrock-key", "ABSK", r"(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/=]{100,}"),
    ("google-api-key", "AIza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}"),
    ("google-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("google-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("google-refresh-token", "1//0", r"(?<![A-Za-z0-9/])1//0[A-Za-z0-9_-]{30,}"),
    ("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/=]{40,})"),
    ("azure-sas", "sig=", r"[?&]sig=([A-Za-z0-9%+/=]{40,})"),
    ("azure-secret", "Q~", r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}"),
    ("azure-devops-token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("digitalocean-token", "doo_v1_|dop_v1_|dor_v1_", r"(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}"),
    ("alibaba-key", "LTAI", r"(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{12,30}(?![A-Za-z0-9])"),
    ("heroku-key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,}"),
    ("fly-token", "FlyV1 ", r"FlyV1 (fm[12][ar]?_[A-Za-z0-9+/=,_-]{40,})"),
    ("netlify-token", "nfp_", r"(?<![A-Za-z0-9])nfp_[A-Za-z0-9]{36}"),
    ("vercel-token", "vcp_|vca_|vci_|vck_|vcr_|vcs_", r"(?<![A-Za-z0-9])vc[paikrs]_[A-Za-z0-9]{24,}"),
    ("supabase-key", "sbp_|sb_secret_", r"(?<![A-Za-z0-9])(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}"),
    ("databricks-token", "dapi", r"(?<![A-Za-z0-9])dapi[a-f0-9]{32}(?:-\d)?"),
    ("ibm-softlayer-key", "api.softlayer.com", r"api\.softlayer\.com/soap/v3(?:\.1)?/([A-Za-z0-9]{64})"),
    # Model providers
    ("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", "sk-", r"(?<![A-Za-z0-9])sk-(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}"),
    ("openai-key", "T3BlbkFJ", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,200}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    ("openai-key", "sk-", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9]{32,}"),
    ("huggingface-token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}"),
    ("groq-key", "gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", "xai-", r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{60,}"),
    ("perplexity-key", "pplx-", r"(?<![A-Za-z0-9])pplx-[A-Za-z0-9]{40,}"),
    ("replicate-token", "r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{37}"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ("fireworks-key", "fw_", r"(?<![A-Za-z0-9])fw_[A-Za-z0-9]{22,}"),
    # Chat and mail
    ("slack-token", "xox", r"(?i:xox[abceoprs](?:\.xox[abp])?-[A-Za-z0-9-]{6,})"),
    ("slack-token", "xapp-", r"xapp-\d-[A-Z0-9]{6,}-\d+-[a-f0-9]{20,}"),
    ("slack-webhook", "hooks.slack.com", r"(?i:hooks\.slack\.com/(?:services|workflows)/)([A-Za-z0-9_/]{10,})"),
    (
        "discord-token",
        "MT|Mj|Mz|ND|NT|Nj|Nz|OD|OT",
        r"(?<![A-Za-z0-9_-])[MNO][TjzD][A-Za-z0-9_-]{22,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    ),
    ("discord-webhook", "/api/webhooks/", r"/api/webhooks/\d{10,}/([A-Za-z0-9_-]{40,})"),
    ("telegram-token", ":AA", r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    ("teams-webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,})"),
    ("sendgrid-key", "SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("mailgun-key", "key-", r"(?<![A-Za-z0-9])key-[a-f0-9]{32}(?![a-f0-9])"),
    ("mailchimp-key", "-us", r"(?<![A-Za-z0-9])[0-9a-z]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("sendinblue-key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("twilio-key", "SK", r"(?<![A-Za-z0-9+/])SK[a-z0-9]{32}(?![A-Za-z0-9+/])"),
    # Payments
    (
        "stripe-key",
        "sk_live_|sk_test_|sk_prod_|rk_live_|rk_test_|rk_prod_",
        r"(?<![A-Za-z0-9])[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    ),
    ("stripe-webhook", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("square-token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9\\_-]{22,}"),
    ("square-token", "EAAA", r"(?<![A-Za-z0-9])EAAA[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])"),
    ("shopify-token", "shpat_|shpca_|shppa_|shpss_", r"(?<![A-Za-z0-9])shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    ("braintree-token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    ("plaid-token", "access-", r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}"),
    # Tools
    ("vault-token", "hvs.|hvb.|hvr.", r"(?<![A-Za-z0-9])hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}"),
    ("pulumi-token", "pul-", r"(?<![A-Za-z0-9])pul-[a-f0-9]{40}"),
    (
        "doppler-token",
        "dp.pt.|dp.st.|dp.ct.|dp.sa.|dp.scim.|dp.audit.",
        r"(?<![A-Za-z0-9])dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}",
    ),
    ("1password-token", "ops_", r"(?<![A-Za-z0-9])ops_eyJ[A-Za-z0-9+/=_-]{100,}"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}"),
    ("notion-token", "ntn_", r"(?<![A-Za-z0-9])ntn_[A-Za-z0-9]{40,}"),
    ("notion-token", "secret_", r"(?<![A-Za-z0-9])secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{40,}"),
    ("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("contentful-token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    ("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("grafana-token", "glsa_|glc_", r"(?<![A-Za-z0-9])gl(?:sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|c_[A-Za-z0-9+/=]{32,})"),
    ("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{60,}"),
    ("dynatrace-token", "dt0", r"(?<![A-Za-z0-9])dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("tailscale-key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{20,}"),
    ("easypost-key", "EZAK|EZTK", r"(?<![A-Za-z0-9])EZ[AT]K[A-Za-z0-9]{54}"),
    ("facebook-token", "EAA", r"(?<![A-Za-z0-9+/])EAA[A-Za-z0-9]{80,}(?![A-Za-z0-9+/])"),
    ("mapbox-token", "sk.eyJ", r"(?<![A-Za-z0-9])sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    # Formats that many issuers share
    (
        "jwt",
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_=-]{8,}\.(?:eyJ|[A-Za-z0-9_=-]{8})[A-Za-z0-9_=-]*(?:\.[A-Za-z0-9_=+/-]*)*",
    ),
    ("private-key", "PRIVATE KEY", _PEM),
    ("private-key", "Private-Lines:", _PUTTY),
    ("url-password", "://", r"://[^\s/?#:@\"'<>]{0,200}:([^\s/?#@\"'<>$`;|&(){}]{1,300})@"),
    ("netrc-password", "login", r"login\s{1,20}\S{1,200}\s{1,20}password\s{1,20}(\S{1,300})"),
    # A password as an argument that says itself what it is
    ("password", "pass:", r"\s-pass(?:in|out)?\s{1,4}[\"']?pass:([^\s'\"$`;|&<>(){}]{3,})"),
)

_ARGUMENT_FORMATS = (("password", row["literal"], row["pattern"]) for row in list_secret_arguments())

FORMATS_BY_LITERAL = tuple(
    (literal, row) for row in (*SECRET_FORMATS, *_ARGUMENT_FORMATS) for literal in row[1].split("|")
)
"""Each literal with its row."""

LATE_LITERALS = frozenset(
    ("AZDO", ".atlasv1.", "Q~", ":AA", "-us", "T3BlbkFJ", "sig=", "PRIVATE KEY", "login", "pass:")
)
"""The literals that a match of their format does not begin with."""
