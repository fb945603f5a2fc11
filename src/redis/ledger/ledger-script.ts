import { Script } from "../script.js";

/**
 * One exchange of a process with the ledger, in one step and by Redis' clock alone.
 *
 * `KEYS[1]` holds the slots in use: a sorted set of IDs (`owner/number`, with a `p` at the end for a page), each with the
 * time at which it comes back. `KEYS[2]` holds the rest as a hash: the `epoch` of this ledger, until when it is
 * `settling` and `pausing`, the count of `pages`, and for each owner `h/` slots held, `w/` slots it waits for, `s/` when
 * it was seen last.
 */
export const LEDGER_SCRIPT = new Script(`
local slots, book = KEYS[1], KEYS[2]
local owner, known, newEpoch = ARGV[1], ARGV[2], ARGV[3]
local requests, pageRequests = tonumber(ARGV[4]), tonumber(ARGV[5])
local intervalMs, leaseMs, graceMs = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local wantSingles, wantPages, firstNumber = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local ownShare, pauseMs, wasCutOff = tonumber(ARGV[12]), tonumber(ARGV[13]), ARGV[14] == '1'
local FIRST_UPDATE = 15

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local fields = {}
local flat = redis.call('HGETALL', book)
for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
local function get(name) return tonumber(fields[name] or 0) end
local function set(name, value)
  fields[name] = value
  if value == nil or value == 0 then redis.call('HDEL', book, name) else redis.call('HSET', book, name, value) end
end

local function count(id, change)
  local holder = 'h/' .. string.match(id, '^[^/]+')
  set(holder, math.max(0, get(holder) + change))
  if string.sub(id, -1) == 'p' then set('pages', math.max(0, get('pages') + change)) end
end
local function put(id, ms)
  if redis.call('ZADD', slots, now + ms, id) == 1 then count(id, 1) end
end
local function remove(id)
  if redis.call('ZREM', slots, id) == 1 then count(id, -1) end
end

-- A process that knows another ledger than this one: that one was lost, and with it slots of others that may be in use.
-- Nothing is given out beyond what each process has, until all of them have told what that is.
local isLost = false
if not fields.epoch then
  set('epoch', newEpoch)
end
if known ~= '' and fields.epoch ~= known then
  isLost = true
  if get('settlingSince') == 0 then
    set('settlingSince', now)
    set('settling', now + graceMs)
  end
elseif wasCutOff then
  set('settlingSince', now)
  set('settling', now + graceMs)
end
-- When the clock was set back, nothing lasts longer than it was to last at most.
local settlingMs = math.max(0, math.min(get('settling') - now, graceMs))

for i = FIRST_UPDATE, #ARGV, 2 do
  local ms = tonumber(ARGV[i + 1])
  if ms > 0 then put(ARGV[i], ms) else remove(ARGV[i]) end
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', slots, '-inf', now, 'LIMIT', 0, 1000)) do remove(id) end
local latest = now + 2 * leaseMs
for _, id in ipairs(redis.call('ZRANGEBYSCORE', slots, '(' .. string.format('%d', latest), '+inf', 'LIMIT', 0, 1000)) do
  redis.call('ZADD', slots, now + leaseMs, id)
end

-- The first 429 decides.
local pauseLeft = math.max(0, math.min(get('pausing') - now, get('pauseMs')))
if pauseMs > 0 and pauseLeft == 0 then
  pauseLeft = pauseMs
  set('pausing', now + pauseMs)
  set('pauseMs', pauseMs)
end

-- Who else is there, who of them waits, and how many slots those who wait have.
set('s/' .. owner, now)
local members, waiting, heldByWaiting, others = 0, 1, get('h/' .. owner), {}
for field, seen in pairs(fields) do
  if string.sub(field, 1, 2) == 's/' then
    local name = string.sub(field, 3)
    local age = math.abs(now - tonumber(seen))
    if age > leaseMs and get('h/' .. name) == 0 then
      redis.call('HDEL', book, field, 'w/' .. name)
    elseif age <= leaseMs then
      members = members + 1
      local wants = age <= graceMs and get('w/' .. name) or 0
      if name ~= owner and wants > 0 then
        local held = get('h/' .. name)
        waiting = waiting + 1
        heldByWaiting = heldByWaiting + held
        others[#others + 1] = { wants, held }
      end
    end
  end
end

local free = math.max(0, requests - redis.call('ZCARD', slots))
local freePages = math.max(0, pageRequests - get('pages'))
local mine = get('h/' .. owner)
wantPages = math.min(wantPages, freePages)
local wants = wantSingles + wantPages
local grant = 0
if pauseLeft > 0 or isLost then
  grant = 0
elseif settlingMs > 0 then
  grant = math.min(wants, free, math.max(0, ownShare - mine))
else
  -- Those who wait get the same, as far as they want it.
  local level = (free + heldByWaiting) / waiting
  local dueToOthers = 0
  for _, other in ipairs(others) do
    dueToOthers = dueToOthers + math.max(0, math.min(other[1], level - other[2]))
  end
  grant = math.min(wants, free, math.max(math.floor(level - mine), free - math.floor(dueToOthers), 0))
end
local singles = math.min(grant, wantSingles)
local pages = grant - singles
for i = 0, grant - 1 do
  put(owner .. '/' .. string.format('%d', firstNumber + i) .. (i < singles and '' or 'p'), leaseMs)
end
set('w/' .. owner, wants - grant)

local nextMs = -1
local first = redis.call('ZRANGE', slots, 0, 0, 'WITHSCORES')
if first[2] then nextMs = math.max(0, math.min(tonumber(first[2]) - now, intervalMs)) end

local keepMs = string.format('%d', 2 * leaseMs + pauseLeft + 10000)
redis.call('PEXPIRE', slots, keepMs)
redis.call('PEXPIRE', book, keepMs)
return { fields.epoch, isLost and 1 or 0, settlingMs, pauseLeft, singles, pages, free - grant, nextMs, members }
`);
