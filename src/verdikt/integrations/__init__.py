"""Adapters for agent SDKs, one module each; each imports its SDK when it is used and names the extra it needs."""

from verdikt.integrations.governed_callable import govern as govern
from verdikt.integrations.tool_kinds import ToolKind as ToolKind
