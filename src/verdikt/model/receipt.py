"""`Receipt` under its documented import path; it is defined beside `Decision`, which holds one."""

from __future__ import annotations

from verdikt.model.verdict import RECEIPT_VERSION as RECEIPT_VERSION
from verdikt.model.verdict import Receipt as Receipt
