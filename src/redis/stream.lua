-- What must be atomic about one bus's stream, except to append. ARGV[1] names the operation.
--
-- Everything of a bus lives in this one key, so that it is born, replicated, restored and deleted as a whole:
--   * event N is the entry 0-N with the fields  <epoch> <JSON without the id>  mark <publisher>.<step>.<place in the step>
--     (and  before <bytes published before it>  where bytes are capped);
--   * the epoch is a consumer group named  epoch:<epoch>  that nobody reads through;
--   * the end is the entry 1-0, behind which Redis itself takes no event any more.
--
-- An event's size is the UTF-8 bytes of its JSON with the id in it: those of the text, of `"id":,` and of the digits, or 4
-- more than text and entry id have together.

local key = KEYS[1]

local function field(list, name)
  for i = 1, #list, 2 do
    if list[i] == name then return list[i + 1] end
  end
end

local function number_of(id)
  return tonumber(string.match(id, '^0%-(%d+)$'))
end

local function epoch_now()
  if redis.call('EXISTS', key) == 0 then return nil end
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    local epoch = string.match(field(group, 'name'), '^epoch:(.+)$')
    if epoch then return epoch end
  end
end

local function the_end()
  return redis.call('XRANGE', key, '1-0', '1-0')[1]
end

local function keep_for(ttl)
  if ttl ~= '0' then redis.call('PEXPIRE', key, ttl) end
end

-- The last id, and the first that is retained; the one behind the last where none is. Nothing, where somebody's entry of
-- another kind is in the way of every event to come.
local function bounds()
  local info = redis.call('XINFO', 'STREAM', key)
  local ended = the_end()
  local last = ended and tonumber(ended[2][2]) or number_of(field(info, 'last-generated-id'))
  if not last then return end
  local first = field(info, 'length') > 0 and number_of(field(info, 'recorded-first-entry-id'))
  return first or last + 1, last, ended
end

-- True where the stream is not the one that a node has read up to `head`: a server with an older copy took over.
local function forked(head, mark)
  local _, last, ended = bounds()
  if ended then return false end
  if last < head then return true end
  if mark == '' then return false end
  local entry = redis.call('XRANGE', key, '0-' .. head, '0-' .. head)[1]
  return entry ~= nil and field(entry[2], 'mark') ~= mark
end

local operations = {}

-- fresh epoch, known epoch, known last id, its mark if it was read, ttl, byte cap
-- -> epoch, first id, last id, ended, first id within the byte cap
-- Gives a stream that is not there, or not the known one, or that takes no event, the fresh epoch.
function operations.look(fresh, known, head, mark, ttl, cap)
  local epoch = epoch_now()
  if epoch and (not bounds() or epoch == known and forked(tonumber(head), mark)) then
    redis.call('DEL', key)
    epoch = nil
  elseif not epoch and redis.call('EXISTS', key) == 1 and not bounds() then
    return redis.error_reply('WRONGTYPE the stream holds what is not of a bus')
  end
  if not epoch then
    redis.call('XGROUP', 'CREATE', key, 'epoch:' .. fresh, '0', 'MKSTREAM')
    epoch = fresh
  end
  keep_for(ttl)
  local first, last, ended = bounds()
  local retained = first
  if cap ~= '0' and first <= last then
    local newest = redis.call('XREVRANGE', key, string.format('0-%.0f', last), '-', 'COUNT', 1)[1]
    -- It stays for the nodes that have not read it, but counts as one that emptied the ring.
    if newest and #newest[2][2] + #newest[1] + 4 > tonumber(cap) then retained = last + 1 end
  end
  return { epoch, first, last, ended and 1 or 0, retained }
end

-- epoch -> 'epoch' | 'ended'
operations['end'] = function(epoch)
  if epoch_now() ~= epoch then return 'epoch' end
  if not the_end() then
    local _, last = bounds()
    redis.call('XADD', key, '1-0', 'end', string.format('%.0f', last))
  end
  return 'ended'
end

return operations[ARGV[1]](unpack(ARGV, 2))
