"""Values by JSON schemas: such as a schema describes, and such as it nearly does."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from wsnode.jsonrpc.schema import Schema

MAX_ITEMS = 3
"""Items of a list, and members of an object with names of its own."""


class DescribedValues:
    """Strategies by the schemas of one document.

    Texts with a pattern of `known` are drawn from what it has for that pattern as well, names of members that
    a schema leaves open from `names`. With `odd`, any value may be one of these instead.
    """

    def __init__(
        self,
        components: Mapping[str, Schema],
        known: Mapping[str, st.SearchStrategy[str]],
        names: st.SearchStrategy[str],
        odd: st.SearchStrategy[Any] | None = None,
    ) -> None:
        self._components = components
        self._known = known
        self._names = names
        self._odd = odd

    def of(self, schema: Schema) -> st.SearchStrategy[Any]:
        """Return values by a schema."""
        usual, odd = self._usual(schema), self._odd
        if odd is None:
            return usual
        # One of many values is odd, and most of lists and objects have none.
        return st.integers(0, 9).flatmap(lambda number: usual if number else odd)

    def _usual(self, schema: Schema) -> st.SearchStrategy[Any]:
        match schema:
            case {"$ref": str(name)}:
                return self._usual(self._components[name.rpartition("/")[2]])
            case {"anyOf": schemas}:
                return st.one_of(*map(self._usual, schemas))
            case {"const": value}:
                return st.just(value)
            case {"enum": values}:
                return st.sampled_from(values)
            case {"type": "object"}:
                return self._object(schema)
            case {"type": "array", "items": items}:
                return st.lists(self.of(items), max_size=min(MAX_ITEMS, schema.get("maxItems", MAX_ITEMS)))
            case {"type": "string"}:
                return self._text(schema)
            case {"type": "integer"}:
                return st.integers(schema.get("minimum"), schema.get("maximum"))
            case {"type": "boolean"}:
                return st.booleans()
            case {"type": "null"}:
                return st.none()
        assert not schema, schema
        return st.none() | st.booleans() | st.integers(0, 9) | self._names

    def _object(self, schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
        members = {name: self.of(each) for name, each in schema.get("properties", {}).items()}
        required = {name: members.pop(name) for name in schema.get("required", ())}
        named = st.fixed_dictionaries(required, optional=members)
        match schema:
            case {"additionalProperties": dict(others)}:
                more = st.dictionaries(self._names, self.of(others), max_size=MAX_ITEMS)
                return st.tuples(named, more).map(lambda both: both[1] | both[0])
        return named

    def _text(self, schema: Schema) -> st.SearchStrategy[str]:
        if "pattern" not in schema:
            return st.text(st.characters(codec="ascii"), max_size=8) | self._names
        pattern = schema["pattern"].removeprefix("^").removesuffix("$")
        anything = st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="ascii"))
        return anything if (known := self._known.get(pattern)) is None else known | anything
