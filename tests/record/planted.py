"""Secrets of common formats, put together here so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64

_A = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
_B64 = base64.b64encode(b"me:" + b"s3cr3t99").decode()
_HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


def _of(text: str, length: int) -> str:
    return (text * 4)[:length]


#: Format: how it stands in a text, and the secret itself.
PLANTED: dict[str, tuple[str, str]] = {
    name: (text.replace("§", secret), secret)
    for name, (text, secret) in {
        "OpenAI": ("key §.", "sk-" + _of(_A, 48)),
        "OpenAI project": ("key §", "sk-" + "proj-" + _of(_A, 40) + "_T3Blbk-" + _of(_A, 20)),
        "Anthropic": ("x § y", "sk-" + "ant-api03-" + _of(_A, 60)),
        "OpenRouter": ("§", "sk-" + "or-v1-" + _HEX * 2),
        "AWS id": ("aws §", "AK" + "IA" + "Q3EGRZ7N5XKM2WPA"),
        "AWS secret": ("aws_secret_access_key = §", "wJalr/" + _of(_A, 34)),
        "AWS session": ("AWS_SESSION_TOKEN=§", "IQoJb3JpZ2luX2VjE" + _of(_A, 80)),
        "Azure storage": ("AccountName=x;AccountKey=§;EndpointSuffix=y", _of(_A, 86) + "=="),
        "Azure client": ("client §", "a1b8" + "Q~" + _of(_A, 34)),
        "Azure signature": ("https://x.blob.core.windows.net/c?sv=2024&sig=§&se=1", _of(_A, 44)),
        "Google": ("§ there", "AI" + "za" + _of(_A, 35)),
        "Google OAuth": ("§", "GOC" + "SPX-" + _of(_A, 28)),
        "key in an address": ("GET https://h.example/v1?key=§", _of(_A, 32)),
        "GitHub": ("§", "gh" + "p_" + _of(_A, 36)),
        "GitHub fine": ("§", "github" + "_pat_" + _of(_A, 60)),
        "GitLab": ("§", "gl" + "pat-" + _of(_A, 20)),
        "Slack": ("§", "xo" + "xb-123456789012-" + _of(_A, 24)),
        "Slack hook": ("https://hooks.slack.com/services/§", "T0A1B2C3D/B0A1B2C3D/" + _of(_A, 24)),
        "Stripe": ("§", "sk" + "_live_" + _of(_A, 24)),
        "Stripe hook": ("§", "wh" + "sec_" + _of(_A, 32)),
        "Hugging Face": ("§", "h" + "f_" + _of(_A, 34)),
        "npm": ("//registry.example/:_authToken=§", "np" + "m_" + _of(_A, 36)),
        "PyPI": ("§", "py" + "pi-AgEIcHlwaS5vcmc" + _of(_A, 60)),
        "SendGrid": ("§", "S" + "G." + _of(_A, 22) + "." + _of(_A, 43)),
        "Twilio": ("§", "S" + "K" + _HEX),
        "Discord": ("§", "M" + _of(_A, 25) + "." + _of(_A, 6) + "." + _of(_A, 38)),
        "Telegram": ("bot §", "123456789:" + "AA" + _of(_A, 33)),
        "Groq": ("§", "gs" + "k_" + _of(_A, 52)),
        "Databricks": ("§", "da" + "pi" + _HEX),
        "DigitalOcean": ("§", "dop" + "_v1_" + _HEX * 2),
        "JWT": ("§", "ey" + "J" + _of(_A, 20) + ".ey" + "J" + _of(_A, 30) + "." + _of(_A, 43)),
        "PEM": ("a\n§\nb", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + _of(_A, 70) + "\n"
                "-----END OPENSSH " + "PRIVATE KEY-----"),
        "basic": ("Authorization: Basic §",
                  base64.b64encode(b"deploy:" + _of(_A, 12).encode()).decode()),
        "curl": ("curl -u deploy:§ https://h.example", _of(_A, 12)),
        "database": ("postgres://app:§@db.internal/app", "p4ss" + "word"),
        "ADO": ("Server=db;User Id=sa;Password=§;", "N0t-" + "So-Secret"),
        "env": ("PATH=/bin\nSTRIPE_SIGNING_SECRET=§\nHOME=/root", _of(_A, 20)),
        "docker": ('{"auths": {"h": {"auth": "§"}}}', _B64),
        "header": ("x-api-key: §", "q" + _HEX),
    }.items()
}  # fmt: skip
