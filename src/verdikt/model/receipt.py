"""`Receipt` under its documented import path; it is defined beside `Decision`, which holds one."""

from __future__ import annotations

from verdikt.model.verdict import RECEIPT_VERSION, Receipt

__all__ = ["RECEIPT_VERSION", "Receipt"]
