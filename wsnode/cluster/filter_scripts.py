"""Scripts by which Redis keeps the filters of a chain's nodes.

The keys are `PREFIX:filter:ID`, a hash that expires with its filter; `PREFIX:filters`, all ids by the time at
which they expire; `PREFIX:filters:weights`, what each weighs and the total; and `PREFIX:filters:of:HOLDER`,
the ids of one holder by time. The server's clock alone counts.
"""

from typing import Final

SWEPT_AT_ONCE: Final = 64
"""Maximum number of expired filters that one call counts off, to keep each call short."""
MAX_BYTES: Final = 1 << 20
"""Maximum number of bytes of a field of a filter."""

OWNER_BYTES: Final = 64
"""Maximum number of bytes of the name of an owner, a hash."""

_TIME: Final = "local now = tonumber(redis.call('TIME')[1])"
# What another program has put at the keys of counts is worth no error: counting begins anew.
_SOUND: Final = """
local function require_kind(key, kind)
    local found = redis.call('TYPE', key).ok
    if found ~= 'none' and found ~= kind then redis.call('DEL', key) end
end
require_kind(KEYS[2], 'zset')
require_kind(KEYS[3], 'hash')
require_kind(KEYS[4], 'zset')
"""
_FORGET: Final = """
local function total() return tonumber(redis.call('HGET', KEYS[3], 'total') or '0') or 0 end
local function set_total(weight) redis.call('HSET', KEYS[3], 'total', string.format('%d', weight)) end
local function forget(id)
    local weight = tonumber(redis.call('HGET', KEYS[3], id) or '0') or 0
    if weight ~= 0 then set_total(math.max(0, total() - weight)) end
    redis.call('HDEL', KEYS[3], id)
    redis.call('ZREM', KEYS[2], id)
end
"""
ADD: Final = f"""
{_TIME}
{_SOUND}
{_FORGET}
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, {SWEPT_AT_ONCE})
for _, id in ipairs(gone) do forget(id) end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[7]) or total() + ARGV[6] > tonumber(ARGV[9]) then
    return {{'full'}}
end
if ARGV[5] ~= '' and redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[8]) then return {{'full'}} end
redis.call('HSET', KEYS[1], 'wish', ARGV[2], 'place', ARGV[3], 'holder', ARGV[5], 'owner', ARGV[10])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[6])
set_total(total() + ARGV[6])
if ARGV[5] ~= '' then
    redis.call('ZADD', KEYS[4], now + ARGV[4], ARGV[1])
    redis.call('EXPIRE', KEYS[4], ARGV[4])
end
return {{'added'}}
"""
FIND: Final = f"""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {{'gone'}} end
if kind ~= 'hash' then return {{'unreadable', 'a ' .. kind}} end
for _, field in ipairs({{'wish', 'place'}}) do
    local size = redis.call('HSTRLEN', KEYS[1], field)
    if size == 0 or size > {MAX_BYTES} then return {{'unreadable', field .. ' of ' .. size .. ' bytes'}} end
end
local owner = redis.call('HSTRLEN', KEYS[1], 'owner')
if owner > {OWNER_BYTES} then return {{'unreadable', 'owner of ' .. owner .. ' bytes'}} end
local found = redis.call('HMGET', KEYS[1], 'wish', 'place', 'owner')
return {{'found', found[1], found[2], found[3] or ''}}
"""
MOVE: Final = f"""
{_TIME}
{_SOUND}
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return {{'gone'}} end
if redis.call('HGET', KEYS[1], 'place') ~= ARGV[2] then return {{'moved'}} end
redis.call('HSET', KEYS[1], 'place', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('ZADD', KEYS[2], 'XX', now + ARGV[4], ARGV[1])
local holder = redis.call('HGET', KEYS[1], 'holder')
if holder and holder ~= '' then
    local held = KEYS[2] .. ':of:' .. holder
    require_kind(held, 'zset')
    redis.call('ZADD', held, 'XX', now + ARGV[4], ARGV[1])
    redis.call('EXPIRE', held, ARGV[4])
end
return {{'done'}}
"""
REMOVE: Final = f"""
{_SOUND}
{_FORGET}
local holder = redis.call('TYPE', KEYS[1]).ok == 'hash' and redis.call('HGET', KEYS[1], 'holder')
if holder and holder ~= '' then
    require_kind(KEYS[2] .. ':of:' .. holder, 'zset')
    redis.call('ZREM', KEYS[2] .. ':of:' .. holder, ARGV[1])
end
local count = redis.call('DEL', KEYS[1])
forget(ARGV[1])
return {{count == 1 and 'removed' or 'gone'}}
"""
