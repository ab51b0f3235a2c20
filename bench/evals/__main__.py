"""``python -m bench.evals COMMAND``: asks known questions again, of your home folder or a sample week."""

from __future__ import annotations

import sys

import click

from bench.evals.answer_check import check_answers
from webapp.cli import run

evals = click.Group("evals", commands=[check_answers])

if __name__ == "__main__":
    sys.exit(run(command=evals))
