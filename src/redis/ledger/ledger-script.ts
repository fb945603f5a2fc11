import { Script } from "../script.js";

/**
 * One exchange of a process with the ledger, in one step and by Redis' clock alone.
 *
 * `KEYS[1]` is a hash. The field `ledger` holds what all share: its `epoch`, the ledger's `now`, and until when it is
 * paused and settling. There is one field for each process, with what it reported last: when it was `seen`, how many more
 * slots it `wanted`, and when each slot that it holds is free again: those of `singles`, and those of `pages`.
 */
export const LEDGER_SCRIPT = new Script(`
local request = cjson.decode(ARGV[1])
local limit, owner = request.limit, request.owner

local ledger, processes = nil, {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local value = cjson.decode(fields[i + 1])
  if fields[i] == 'ledger' then ledger = value else processes[fields[i]] = value end
end
ledger = ledger or { epoch = request.newEpoch, now = 0, aheadMs = 0, pausedUntil = 0, settlingUntil = 0 }

-- The ledger's time never goes back: if Redis' clock was set back, the ledger stays ahead of it from then on.
local clock = redis.call('TIME')
local clockMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
ledger.aheadMs = math.max(ledger.aheadMs, ledger.now - clockMs)
local now = clockMs + ledger.aheadMs
ledger.now = now

-- The first 429 decides.
if request.pauseMs > 0 and ledger.pausedUntil <= now then ledger.pausedUntil = now + request.pauseMs end
local pauseMs = math.max(0, ledger.pausedUntil - now)

-- This process knew a ledger that was lost, or used slots without one; so may others have. Until all have had time to
-- report what they hold, each gets no more than that.
if request.knownEpoch and request.knownEpoch ~= ledger.epoch then ledger.settlingUntil = now + limit.graceMs end
local settlingMs = math.max(0, ledger.settlingUntil - now)

local own = { seen = now, singles = {}, pages = {} }
for kind, delays in pairs(request.held) do
  for i, delay in ipairs(delays) do own[kind][i] = now + delay end
end
local settlingShare = settlingMs > 0 and processes[owner] and processes[owner].settlingShare or nil
processes[owner] = own

local nextAt = settlingMs > 0 and ledger.settlingUntil or now + limit.returnMs
local function countHeld(times)
  local count = 0
  for _, time in ipairs(times) do
    if time > now then
      count = count + 1
      nextAt = math.min(nextAt, time)
    end
  end
  return count
end

local members, used, usedPages, ownHeld, waiting, heldByWaiting, others = 0, 0, 0, 0, 1, 0, {}
for name, process in pairs(processes) do
  local silentMs = now - process.seen
  local pages = countHeld(process.pages)
  local slots = countHeld(process.singles) + pages
  used, usedPages = used + slots, usedPages + pages
  if silentMs < limit.leaseMs then
    members = members + 1
  elseif slots == 0 then
    redis.call('HDEL', KEYS[1], name)
  end
  if name == owner then
    ownHeld, heldByWaiting = slots, heldByWaiting + slots
  elseif silentMs <= limit.graceMs and process.wanted > 0 then
    waiting, heldByWaiting = waiting + 1, heldByWaiting + slots
    others[#others + 1] = { wanted = process.wanted, held = slots }
  end
end

local free = math.max(0, limit.requests - used)
local wantedPages = math.min(request.wanted.pages, math.max(0, limit.pages - usedPages))
local wanted = request.wanted.singles + wantedPages
local granted = 0
if settlingMs > 0 then own.settlingShare = settlingShare or ownHeld end
if pauseMs > 0 then
  granted = 0
elseif settlingMs > 0 then
  granted = math.min(wanted, free, math.max(0, own.settlingShare - ownHeld))
else
  -- Processes that wait get the same number, as far as they want it; what they do not want is for the others.
  local evenPart = (free + heldByWaiting) / waiting
  local dueToOthers = 0
  for _, other in ipairs(others) do
    dueToOthers = dueToOthers + math.max(0, math.min(other.wanted, evenPart - other.held))
  end
  granted = math.min(wanted, free, math.max(math.floor(evenPart - ownHeld), free - math.floor(dueToOthers), 0))
end
local singles = math.min(granted, request.wanted.singles)
local pages = granted - singles
for _ = 1, singles do table.insert(own.singles, now + limit.leaseMs) end
for _ = 1, pages do table.insert(own.pages, now + limit.leaseMs) end
own.wanted = wanted - granted

redis.call('HSET', KEYS[1], 'ledger', cjson.encode(ledger))
redis.call('HSET', KEYS[1], owner, cjson.encode(own))
redis.call('PEXPIRE', KEYS[1], string.format('%d', 2 * limit.leaseMs + pauseMs + 10000))
return cjson.encode({
  epoch = ledger.epoch,
  pauseMs = pauseMs,
  granted = { singles = singles, pages = pages },
  free = free - granted,
  nextMs = nextAt - now,
  members = members,
})
`);
