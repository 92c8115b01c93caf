-- Appends events in one step, all or none. See stream.lua for how they are kept.
-- ARGV: epoch, entries at the most, ttl, byte cap (0: none), mark, the publisher's step before this one (empty: it has
-- landed), an id that this one is behind, JSON ... -> last id | 'epoch' | 'ended' | 'early'
--
-- One event takes 8 µs here, of which Redis spends 5 on any script: this is the way of every event, and so it has a script
-- of its own that defines nothing.

local key, epoch, limit, ttl, cap, mark, before, floor = KEYS[1], unpack(ARGV, 1, 7)

-- Fails where there is no such group, and is cheaper than to list them.
if redis.pcall('XPENDING', key, 'epoch:' .. epoch).err then return 'epoch' end

-- What Redis refused, out of memory say, must not be overtaken by what was sent behind it. From step to step, back to the
-- one before, which is the newest unless somebody else's are between.
local at = '+'
while before ~= '' do
  local entry = redis.call('XREVRANGE', key, at, '(0-' .. floor, 'COUNT', 1)[1]
  if not entry then return 'early' end
  local step, place = string.match(entry[2][4] or '', '^(.*)%.(%d+)$')
  if step == before then break end
  at = string.format('0-%.0f', math.max(0, tonumber(string.sub(entry[1], 3)) - (place or 1)))
end

-- UTF-8 bytes of all events before the next one, and of this one with its id.
local total, size = 0, nil
if cap ~= '0' then
  local newest = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if newest then total = (newest[2][6] or 0) + #newest[2][2] + #newest[1] + 4 end
end

local id
for i = 8, #ARGV do
  local own = mark .. '.' .. (i - 7)
  if cap == '0' then
    id = redis.pcall('XADD', key, 'MAXLEN', limit, '0-*', epoch, ARGV[i], 'mark', own)
  else
    local bytes = string.format('%.0f', total)
    id = redis.pcall('XADD', key, 'MAXLEN', limit, '0-*', epoch, ARGV[i], 'mark', own, 'before', bytes)
  end
  if type(id) == 'table' then
    -- Redis takes nothing behind the end.
    return redis.call('XRANGE', key, '1-0', '1-0')[1] and 'ended' or id
  end
  total = total + #ARGV[i] + #id + 4
end

-- The oldest go until the rest is within the cap; the newest stays, for the nodes that have not read it.
while cap ~= '0' do
  local oldest = redis.call('XRANGE', key, '-', '+', 'COUNT', 64)
  local keep = 1
  while keep < #oldest and total - (oldest[keep][2][6] or 0) > tonumber(cap) do keep = keep + 1 end
  redis.call('XTRIM', key, 'MINID', oldest[keep][1])
  if keep < #oldest or #oldest < 64 then break end
end

if ttl ~= '0' then redis.call('PEXPIRE', key, ttl) end
return tonumber(string.sub(id, 3))
