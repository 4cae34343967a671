"""The page's modules that only reckon, run by the browser that runs the page."""

import json
from typing import Any

import pytest

from tests.console.devtools import Page

pytestmark = pytest.mark.slow


async def run(page: Page, module: str, body: str) -> Any:
    """Return what a function's body returns that has the module's names in `m`."""
    return await page.evaluate(f"import('/console/{module}').then((m) => {{ {body} }})")


@pytest.mark.parametrize(
    ("blocks", "counts"),
    [
        ([[1, "a"], [2, "b"], [3, "c"]], [3, 0, 0]),
        ([[1, "a"], [4, "d"]], [2, 2, 0]),
        ([[1, "a"], [2, "b"], [2, "b"]], [2, 0, 1]),
        ([[1, "a"], [2, "b"], [1, "a"], [2, "b"]], [2, 0, 2]),
        # A reorganisation, and another one back to the first branch.
        ([[1, "a"], [2, "b"], [3, "c"], [2, "B"], [2, "b"], [3, "c"]], [6, 0, 0]),
    ],
    ids=["in order", "a gap", "one twice", "two twice", "branches"],
)
async def test_heads_that_are_missing_or_twice_are_counted(
    page: Page, blocks: list[Any], counts: list[int]
) -> None:
    body = f"""const tally = new m.HeadTally();
      for (const [number, hash] of {json.dumps(blocks)}) tally.add(number, hash);
      return [tally.received, tally.missing, tally.twice];"""
    assert await run(page, "resume/tally.js", body) == counts


async def test_logs_that_are_missing_or_twice_are_counted(page: Page) -> None:
    body = """const tally = new m.LogTally();
      const log = (blockHash, logIndex, removed = false) => ({ blockHash, logIndex, removed });
      const counts = () => [tally.received, tally.missing, tally.twice];
      const found = [];
      for (const each of [log("a", 0), log("a", 1), log("a", 1)]) tally.add(each);
      found.push(counts());
      tally.check([log("a", 0), log("a", 1), log("a", 2)]);
      found.push(counts());
      tally.settle();
      tally.check([log("b", 0)]);
      found.push(counts());
      for (const each of [log("b", 0), log("b", 0, true), log("b", 0)]) tally.add(each);
      tally.check([log("b", 0)]);
      found.push(counts());
      return found;"""
    expected = [[2, 0, 1], [2, 1, 1], [2, 2, 1], [4, 1, 1]]
    assert await run(page, "resume/tally.js", body) == expected


async def test_an_indented_text_has_other_spaces_and_nothing_else(page: Page) -> None:
    text = '{"a":[1.50,1e400,{"b":"x \\" {,:}"},[],{}],"c":123456789012345678901234567890,"d":"é\\n"}'
    indented = await run(page, "explorer/indent.js", f"return m.indented({json.dumps(text)});")
    assert json.loads(indented, parse_float=str, parse_int=str) == json.loads(
        text, parse_float=str, parse_int=str
    )
    assert "123456789012345678901234567890" in indented
    assert "1e400" in indented
    assert indented.splitlines()[:4] == ["{", '  "a": [', "    1.50,", "    1e400,"]


HASH = {"type": "string", "pattern": "^0[xX][0-9a-fA-F]{4}$"}
COMPONENTS = {"Hash": HASH, "Tag": {"anyOf": [{"enum": ["latest"]}, {"type": "integer"}]}}


@pytest.mark.parametrize(
    ("schema", "typed", "text"),
    [
        ({"$ref": "#/components/schemas/Hash"}, " 0xABcd ", '"0xABcd"'),
        ({"$ref": "#/components/schemas/Hash"}, "0xab", None),
        ({"$ref": "#/components/schemas/Tag"}, "latest", '"latest"'),
        ({"$ref": "#/components/schemas/Tag"}, "12345678901234567890123", "12345678901234567890123"),
        ({"$ref": "#/components/schemas/Tag"}, "later", None),
        (
            {"type": "array", "items": {"$ref": "#/components/schemas/Hash"}},
            "0x0001\n0x0002",
            '["0x0001","0x0002"]',
        ),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Hash"}}, "0x0001 0x2", None),
        ({"type": "array", "items": {"enum": ["trace", "vmTrace"]}}, "trace", '["trace"]'),
        ({"anyOf": [HASH, {"type": "array", "items": HASH}, {"type": "null"}]}, '["0x0001"]', '["0x0001"]'),
        ({"anyOf": [HASH, {"type": "array", "items": HASH}]}, '["0x0001"', None),
        ({"type": "string"}, 'a "word"', '"a \\"word\\""'),
        ({"type": "boolean"}, "true", "true"),
        ({"type": "object", "additionalProperties": True}, '{"a": 1}', '{"a": 1}'),
        ({}, "[1]", "[1]"),
        ({"$ref": "#/components/schemas/Absent"}, "null", "null"),
    ],
)
async def test_what_is_typed_becomes_the_json_that_the_schema_asks_for(
    page: Page, schema: dict[str, Any], typed: str, text: str | None
) -> None:
    body = f"""const control = m.controlOf({json.dumps(schema)}, {json.dumps(COMPONENTS)});
      try {{ return m.read(control, {json.dumps(typed)}); }}
      catch (error) {{ if (error instanceof m.InputError) return null; throw error; }}"""
    assert await run(page, "explorer/schema.js", body) == text


async def test_parameters_that_are_left_out_are_null_before_others(page: Page) -> None:
    body = """const method = { params: ["a", "b", "c"].map((name) => ({ name })) };
      const named = { ...method, paramStructure: "by-name" };
      const texts = ["1", m.ABSENT, "3"];
      return [m.parametersText(method, texts), m.parametersText(method, ["1", m.ABSENT, m.ABSENT]),
        m.parametersText(named, texts)];"""
    assert await run(page, "explorer/schema.js", body) == ["[1,null,3]", "[1]", '{"a":1,"c":3}']


async def test_rates_and_quantiles_are_those_between_two_readings(page: Page) -> None:
    before = """# TYPE wsnode_messages counter
wsnode_messages_total 100.0
wsnode_request_seconds_bucket{le="0.001",method="a"} 10.0
wsnode_request_seconds_bucket{le="0.002",method="a"} 10.0
wsnode_request_seconds_bucket{le="+Inf",method="a"} 10.0
"""
    after = """wsnode_messages_total 150.0
wsnode_request_seconds_bucket{le="0.001",method="a"} 10.0
wsnode_request_seconds_bucket{le="0.002",method="a"} 20.0
wsnode_request_seconds_bucket{le="+Inf",method="a"} 20.0
wsnode_request_seconds_bucket{le="0.001",method="b"} 0.0
wsnode_request_seconds_bucket{le="0.002",method="b"} 10.0
wsnode_request_seconds_bucket{le="+Inf",method="b"} 10.0
"""
    body = f"""const [before, after] = [[{json.dumps(before)}, 1], [{json.dumps(after)}, 6]].map(
        ([text, seconds]) => new m.Reading(m.samplesOf(text), seconds));
      return [m.rate(before, after, "wsnode_messages_total"), m.quantile(before, after, 0.5),
        Number.isNaN(m.quantile(after, after, 0.5))];"""
    assert await run(page, "glance/prometheus.js", body) == [10, 0.0015, True]


CALLS = {
    "0x12Ab": "0x12Ab",
    " totalSupply() ": "0xfeedfeed",
    f"f(address, bool)  0x{'Ab' * 20}, true": f"0xfeedfeed{'ab' * 20:0>64}{1:064x}",
    "f(uint8,int8,uint) 255 -1 0x10": f"0xfeedfeed{255:064x}{'f' * 64}{16:064x}",
    "f(bytes2) 0xabcd": f"0xfeedfeed{'abcd':0<64}",
    "f(uint8) 256": "256 is no uint8.",
    "f(int8) 128": "128 is no int8.",
    "f(uint) -1": "-1 is no uint.",
    "f(address) 0x12": "0x12 is no address.",
    "f(bytes2) 0xab": "0xab is no bytes2.",
    "f(bytes33) 0xab": "0xab is no bytes33.",
    "f(bool) yes": "yes is no bool.",
    "f(string) a": "Values of the type string are to be written as data.",
    "f(bytes) 0x": "Values of the type bytes are to be written as data.",
    "f(uint[]) 1": "Values of the type uint[] are to be written as data.",
    "f(address)": "f takes 1 values, not 0.",
    "0x1": "Write a signature, such as balanceOf(address) 0x…, or 0x and data.",
    "f": "Write a signature, such as balanceOf(address) 0x…, or 0x and data.",
}
RESULTS = {
    "0x": "0x",
    "0x1234": "0x1234",
    f"0x{5 * 10**19:064x}": "5.00×10¹⁹",
    f"0x{'ab' * 20:0>64}{7:064x}": "0xabab…abab, 7",
    f"0x{'f' * 64}": "0xffff…ffff",
    f"0x{'0' * 64 * 5}": "0, 0, 0, 0, …",
}


async def test_calls_are_encoded_as_they_are_written_and_results_shown_in_short(page: Page) -> None:
    body = f"""const hash = async () => "0xfeedfeed" + "00".repeat(28);
      const data = async (text) => {{
        try {{ return await m.encodeCall(m.parseCall(text), hash); }}
        catch (error) {{ if (error instanceof m.CallTextError) return error.message; throw error; }}
      }};
      return Promise.all({json.dumps(list(CALLS))}.map(data))
        .then((calls) => [calls, {json.dumps(list(RESULTS))}.map(m.shownResult)]);"""
    calls, shown = await run(page, "lib/abi.js", body)
    assert dict(zip(CALLS, calls, strict=True)) == CALLS
    assert dict(zip(RESULTS, shown, strict=True)) == RESULTS
