# Recipes for contributors; CONTRIBUTING.md says what each is for.

crate := "wsnode/native/Cargo.toml"

# Show the recipes.
default:
    @just --list

# Formats, lints and types of both languages.
check:
    ruff format --check
    ruff check
    mypy
    python -m mypy.stubtest wsnode._native
    cargo fmt --check --manifest-path {{crate}}
    cargo clippy --release --all-targets --manifest-path {{crate}} -- -D warnings

# All tests but slow ones, or those of a path.
test *args:
    pytest {{args}}

# Tests with other programs: geth, anvil, browsers, Redis.
slow *args:
    pytest -n 4 -m 'slow and not nightly and not soak' {{args}}

# The crate's own tests.
test-engine *args:
    cargo test --release --lib --manifest-path {{crate}} {{args}}

# Build the crate again, into the tree.
engine:
    CARGO_INCREMENTAL=1 maturin develop --release --skip-install

# Licences and sources of all crates; `cargo install --locked cargo-deny` has the command.
deny:
    cargo deny --manifest-path {{crate}} check --hide-inclusion-graph bans licenses sources

# Known faults of crates and Python packages, which are looked up in the network; `pip install pip-audit` beside it.
audit:
    cargo deny --manifest-path {{crate}} check advisories
    pip-audit --require-hashes --disable-pip --requirement requirements.lock

# The generated tables of the reference pages, from their registries.
pages:
    python -m tests.docs.generated

# What makes the tree hard to read, at these commits or now.
tree *commits:
    python -m tests.docs.tree.figures {{commits}}

# The documentation as a site.
docs:
    mkdocs build --strict --site-dir site

# One measurement, such as `just bench table`.
bench name *args:
    python -m bench.{{name}} {{args}}

# Newer versions of the Python packages that the gate installs, with their hashes.
lock:
    uv pip compile pyproject.toml --all-extras --generate-hashes --universal --python-version 3.11 \
        --no-header --no-annotate --upgrade -o requirements.lock
