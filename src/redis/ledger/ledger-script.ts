import { RedisScript } from "../script.js";

/**
 * One exchange of a process with the ledger, in one step and by Redis' clock alone.
 *
 * `KEYS[1]` is a hash. The field `ledger` holds what all share: its `epoch`, the ledger's `now`, and until when it is
 * paused and settling. There is one field for each process, with what it reported last: when it was `seen`, how many more
 * slots it `wanted`, and when each slot that it holds is free again: those of `singles`, and those of `pages`.
 */
export const LEDGER_SCRIPT = new RedisScript(`
local request = cjson.decode(ARGV[1])
local limit, owner = request.limit, request.owner

local ledger, processes = nil, {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local value = cjson.decode(fields[i + 1])
  if fields[i] == 'ledger' then ledger = value else processes[fields[i]] = value end
end
ledger = ledger or { epoch = request.newEpoch, now = 0, aheadMs = 0, pausedUntil = 0, settlingUntil = 0 }

-- The ledger's time never goes back, or every slot and pause would last longer by the difference: if Redis' clock was set
-- back, the ledger stays ahead of it from then on.
local clock = redis.call('TIME')
local clockMs = clock[1] * 1000 + math.floor(clock[2] / 1000)
ledger.aheadMs = math.max(ledger.aheadMs, ledger.now - clockMs)
local now = clockMs + ledger.aheadMs
ledger.now = now

-- The first 429 decides.
if request.pauseMs > 0 and ledger.pausedUntil <= now then ledger.pausedUntil = now + request.pauseMs end
local isPaused = ledger.pausedUntil > now

-- This process knew a ledger that was lost, or used slots without one; so may others have. Until all have had time to
-- report what they hold, each gets no more than that.
if request.knownEpoch and request.knownEpoch ~= ledger.epoch then ledger.settlingUntil = now + limit.graceMs end
local isSettling = ledger.settlingUntil > now

-- The report replaces what the ledger knew of this process.
local before = processes[owner] or {}
local own = { seen = now, singles = {}, pages = {} }
processes[owner] = own
for kind, delays in pairs(request.held) do
  for i, delay in ipairs(delays) do own[kind][i] = now + delay end
end

local nextAt = isSettling and ledger.settlingUntil or now + limit.returnMs
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

local members, held, heldPages, heldBy = 0, 0, 0, {}
local waiting, heldByWaiting = {}, 0
own.wanted = request.wanted.singles + request.wanted.pages
for name, process in pairs(processes) do
  local silentMs = now - process.seen
  if silentMs >= limit.leaseMs then
    -- It is dead, and all its slots are free again.
    redis.call('HDEL', KEYS[1], name)
  else
    local pages = countHeld(process.pages)
    heldBy[name] = countHeld(process.singles) + pages
    members, held, heldPages = members + 1, held + heldBy[name], heldPages + pages
    if process.wanted > 0 and silentMs <= limit.graceMs then
      table.insert(waiting, name)
      heldByWaiting = heldByWaiting + heldBy[name]
    end
  end
end

local free = math.max(0, limit.requests - held)
local grantable = 0
if isSettling then
  -- Each slot that it held may be granted to it again, so a busy process goes on.
  own.share = before.share or heldBy[owner]
  grantable = own.share - heldBy[owner]
elseif own.wanted > 0 then
  -- Processes that wait get the same number, as far as they want it; what they do not want is for the others.
  local evenPart = (free + heldByWaiting) / #waiting
  local dueToOthers = 0
  for _, name in ipairs(waiting) do
    local due = name ~= owner and math.min(processes[name].wanted, evenPart - heldBy[name]) or 0
    dueToOthers = dueToOthers + math.max(0, due)
  end
  grantable = math.max(math.floor(evenPart - heldBy[owner]), free - math.floor(dueToOthers))
end
grantable = isPaused and 0 or math.max(0, math.min(grantable, free))

-- Single calls first. Pages that would need a reserved slot do not count as wanted, or it would be kept for them.
local wantedPages = math.min(request.wanted.pages, math.max(0, limit.pages - heldPages))
local singles = math.min(grantable, request.wanted.singles)
local pages = math.min(grantable - singles, wantedPages)
-- Free a lease from now unless this process reports again: so come back the slots of one that is killed.
for _ = 1, singles do table.insert(own.singles, now + limit.leaseMs) end
for _ = 1, pages do table.insert(own.pages, now + limit.leaseMs) end
own.wanted = request.wanted.singles - singles + wantedPages - pages

redis.call('HSET', KEYS[1], 'ledger', cjson.encode(ledger))
redis.call('HSET', KEYS[1], owner, cjson.encode(own))
local pauseMs = math.max(0, ledger.pausedUntil - now)
redis.call('PEXPIRE', KEYS[1], string.format('%d', 2 * limit.leaseMs + pauseMs + 10000))
return cjson.encode({
  epoch = ledger.epoch,
  pauseMs = pauseMs,
  granted = { singles = singles, pages = pages },
  free = free - singles - pages,
  nextMs = nextAt - now,
  members = members,
})
`);
