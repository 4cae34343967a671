"""Scripts by which Redis keeps a journal: lease, log, genesis, nodes, spent credits of keys, and filters.

Scripts of the lease and the log have four keys: `PREFIX:log`, a stream of records; `PREFIX:lease`, the name
of the holder, which expires; `PREFIX:epoch`, the number of the last lease; and `PREFIX:genesis`, the genesis
file. Scripts of filters have `PREFIX:filter:ID`, a hash that expires with its filter; `PREFIX:filters`, all
ids by the time at which they expire; `PREFIX:filters:weights`, the weight of each and the total; and
`PREFIX:filters:of:HOLDER`, the ids of one holder by time. Redis' own clock alone counts.
"""

from typing import Final

# Another program's values at the keys of the lease and the epoch would make the arithmetic below fail, or
# form a lease that never expires.
_SOUND: Final = """
for _, key in ipairs({KEYS[2], KEYS[3]}) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'none' and kind ~= 'string' then return {'damaged', key} end
end
if redis.call('PTTL', KEYS[2]) == -1 then return {'damaged', KEYS[2]} end
local given = redis.call('GET', KEYS[3])
if given and (#given > 15 or not string.match(given, '^%d+$')) then return {'damaged', KEYS[3]} end
"""
# An epoch is also a time in milliseconds, so that a Redis server that lost all data, or its last writes, does
# not grant an epoch a second time.
CLAIM: Final = f"""
{_SOUND}
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return {{'taken', holder}} end
local now = redis.call('TIME')
local epoch = now[1] * 1000 + math.floor(now[2] / 1000)
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local told = last and string.match(last[1], '^%d+') or '0'
for _, other in ipairs({{given or '0', ARGV[2], told}}) do epoch = math.max(epoch, tonumber(other) + 1) end
local name = string.format('%.0f', epoch)
if #name > 15 then return {{'damaged', tonumber(told) + 1 == epoch and KEYS[1] or KEYS[3]}} end
redis.call('SET', KEYS[3], name)
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return {{'given', name}}
"""
IS_MINE: Final = f"""
{_SOUND}
if redis.call('GET', KEYS[2]) ~= ARGV[1] or redis.call('GET', KEYS[3]) ~= ARGV[2] then return {{'lost'}} end
"""
_TIP: Final = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local tip = last and last[1] or ''
"""
RENEW: Final = f"""
{IS_MINE}
redis.call('PEXPIRE', KEYS[2], ARGV[3])
{_TIP}
return {{'renewed', tip}}
"""
RELEASE: Final = f"""
{IS_MINE}
redis.call('DEL', KEYS[2])
return {{'released'}}
"""
KEEP_GENESIS: Final = f"""
{IS_MINE}
redis.call('SET', KEYS[4], ARGV[3])
return {{'kept'}}
"""
# Each entry holds the totals of the log through this entry. So the log's size needs no separate counter,
# which could be lost while the log remains.
APPEND: Final = f"""
{IS_MINE}
{_TIP}
if tip ~= ARGV[3] then return {{'moved', tip}} end
local bytes, blocks = 0, 0
if last then bytes, blocks = tonumber(last[2][4]), tonumber(last[2][6]) end
bytes, blocks = bytes + #ARGV[5], blocks + tonumber(ARGV[6])
redis.call('XADD', KEYS[1], ARGV[4], 'record', ARGV[5],
    'bytes', string.format('%.0f', bytes), 'blocks', string.format('%.0f', blocks))
local most_records, most_bytes, least_blocks = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
for _ = 1, 64 do
    local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
    local kept = bytes - tonumber(first[2][4]) + #first[2][2]
    local is_beyond = kept > most_bytes or redis.call('XLEN', KEYS[1]) > most_records
    if not is_beyond or blocks - tonumber(first[2][6]) < least_blocks then break end
    redis.call('XDEL', KEYS[1], first[1])
end
return {{'appended'}}
"""

# The script removes nodes that have not reported for `ARGV[3]` seconds; the server's clock alone counts. A
# replica's user may write all of its keys: Redis requires that permission for every key of a script.
MEET: Final = """
local now = tonumber(redis.call('TIME')[1])
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2]) end
local found = redis.call('HGETALL', KEYS[1])
local told = {}
for place = 1, #found, 2 do
    local said, text = string.match(found[place + 1], '^(%d+) (.*)$')
    if not said or #text > tonumber(ARGV[5]) or math.abs(now - tonumber(said)) > tonumber(ARGV[3]) then
        redis.call('HDEL', KEYS[1], found[place])
    elseif #told < tonumber(ARGV[4]) then table.insert(told, text) end
end
return told
"""

# The hash of each API key is a member of a sorted set; its score is the time at which all its credits are
# back. The server's clock alone counts, so nodes send and receive durations. When a node spent its credits is
# known only to the time since its last report, and matters only if no credits were missing then. Between
# these bounds, `earliest` and `latest`, the node's own count holds. Times beyond `longest`, which only
# another program can have written, are removed, since the API key would be refused for ever.
EXCHANGE: Final = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1e6
local kept, longest = now - ARGV[2], now + ARGV[3]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.6f', kept))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.6f', longest), '+inf')
for place = 4, #ARGV, 4 do
    local known = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[place]) or '0')
    local seconds, since, own = tonumber(ARGV[place + 1]), tonumber(ARGV[place + 2]), now + ARGV[place + 3]
    local earliest = math.max(known, now - since) + seconds
    local latest = seconds > 0 and math.max(known, now) + seconds or math.huge
    local full = math.min(math.max(earliest, math.min(own, latest)), longest)
    if full > kept then redis.call('ZADD', KEYS[1], string.format('%.6f', full), ARGV[place]) end
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
if last then redis.call('EXPIREAT', KEYS[1], string.format('%.0f', last + ARGV[2] + 1)) end
local after = string.format('(%.6f', now)
local owing = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', after, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
for place = 2, #owing, 2 do owing[place] = string.format('%.6f', owing[place] - now) end
return owing
"""


SWEPT_AT_ONCE: Final = 64
"""Maximum number of expired filters that one call counts off, to keep each call short."""
MAX_FILTER_BYTES: Final = 1 << 20
"""Maximum number of bytes of a field of a filter."""

OWNER_BYTES: Final = 64
"""Maximum number of bytes of the name of an owner, a hash."""

_TIME: Final = "local now = tonumber(redis.call('TIME')[1])"
# If another program has written a key of another type in place of the counts, the scripts raise no error:
# they delete the key, and counting begins anew.
_SOUND_FILTERS: Final = """
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
ADD_FILTER: Final = f"""
{_TIME}
{_SOUND_FILTERS}
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
FIND_FILTER: Final = f"""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {{'gone'}} end
if kind ~= 'hash' then return {{'unreadable', 'a ' .. kind}} end
for _, field in ipairs({{'wish', 'place'}}) do
    local size = redis.call('HSTRLEN', KEYS[1], field)
    if size == 0 or size > {MAX_FILTER_BYTES} then
        return {{'unreadable', field .. ' of ' .. size .. ' bytes'}}
    end
end
local owner = redis.call('HSTRLEN', KEYS[1], 'owner')
if owner > {OWNER_BYTES} then return {{'unreadable', 'owner of ' .. owner .. ' bytes'}} end
local found = redis.call('HMGET', KEYS[1], 'wish', 'place', 'owner')
return {{'found', found[1], found[2], found[3] or ''}}
"""
MOVE_FILTER: Final = f"""
{_TIME}
{_SOUND_FILTERS}
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
REMOVE_FILTER: Final = f"""
{_SOUND_FILTERS}
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
