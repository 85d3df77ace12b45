"""Compilers, test runners, formatters, linters: what a developer runs all day."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect

_RUNS = EffectSpec("code.build")
_BUILD = Program(_RUNS)


def _cmake(call: Invocation) -> Iterator[Effect]:
    """Classify a build; with `-E` it stands in for the shell."""
    words = call.command.argv[1:]
    if not words or words[0].text != "-E" or len(words) < 3:
        yield call.make_effect("code.build")
        return
    verb, rest = words[1].text, [word for word in words[2:] if word.text[:1] != "-"]
    if verb in ("rm", "remove", "remove_directory"):
        yield from call.make_effects("fs.delete.tree", rest)
    elif verb in ("rename", "copy", "copy_directory", "copy_if_different", "create_symlink"):
        yield from call.make_effects("fs.overwrite", rest[-1:])
    else:
        yield call.make_effect("code.build")


PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "make gmake ninja meson bazel bazelisk buck buck2 scons ant lein mill just task invoke inv gcc g++ cc c++ "
        "clang clang++ ld as nasm rustc javac kotlinc scalac ghc tsc swc esbuild rollup webpack vite parcel turbo nx "
        "pytest py.test tox nox jest vitest mocha ava karma cypress playwright rspec minitest phpunit pest ctest "
        "gtest bats shellspec behave cucumber ruff black isort flake8 pylint pyflakes mypy pyright basedpyright "
        "bandit autopep8 yapf pydocstyle vulture eslint prettier biome stylelint tslint standard xo oxlint dprint "
        "rubocop standardrb reek golint golangci-lint staticcheck gofmt goimports rustfmt clippy-driver shellcheck "
        "shfmt hadolint yamllint ansible-lint markdownlint markdownlint-cli2 vale codespell typos actionlint tflint "
        "tfsec checkov trivy semgrep gitleaks clang-format clang-tidy cppcheck astyle indent uncrustify doxygen "
        "sphinx-build sphinx-quickstart mkdocs jekyll hugo gatsby next nuxt astro coverage lcov gcov genhtml nyc c8 "
        "tox-quickstart cookiecutter yo plop protoc buf swag sqlc objdump nm readelf ldd otool size strip ctags "
        "etags cscope cloc tokei scc gprof virtualenv xcodebuild swiftlint swiftformat cocoapods ng vue nest expo "
        "react-native spring phpstan psalm phpcs php-cs-fixer rebar3 dialyzer dvc snakemake nextflow luigi prefect "
        "wandb mlflow tensorboard nvcc nvidia-smi tldr info apropos whatis",
        _BUILD,
    ),
    "cmake": Program(classify=_cmake),
    **alias_programs(
        "pre-commit lefthook husky",
        Program(
            _RUNS,
            subcommands={
                "uninstall": EffectSpec("git.hook.skip", note="takes the hooks away"),
                "try-repo": EffectSpec(
                    "code.remote",
                    "0",
                    "other",
                    note="runs hooks of an unreviewed repository",
                    possible=True,
                ),
            },
        ),
    ),
}
