import { createRedisScript } from "../script.js";

/**
 * One exchange of a process with the ledger, in one step and by Redis' clock alone. The reasons for its rules are in
 * docs/decisions/007-a-ledger-in-redis.md.
 *
 * `KEYS[1]` is a hash. Its field `ledger` contains what all processes share:
 * - `epoch`: the name of this ledger; a new one begins with a new name
 * - `now`: the ledger's time at the last exchange; `aheadMs`: how far it is ahead of Redis' clock
 * - `pausedUntil`: when the pause ends
 * - `recoveringSince`, `recoveringUntil`: a recovery, in which no process gets more than it held
 *
 * There is one field for each process, with what it reported last:
 * - `seen`: when that was
 * - `wanted`: how many more slots it needs
 * - `single`, `bulk`: when each slot that it holds is free again
 * - `regrantable`: how many it held when it first reported in a recovery
 * - `mayUse`: how many it may use before its next report, if it used slots without the ledger: as many as it held
 */
export const runLedgerScript = createRedisScript(`
local request = cjson.decode(ARGV[1])
local limit, this = request.limit, request.process

local ledger, processes = nil, {}
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local value = cjson.decode(fields[i + 1])
  if fields[i] == 'ledger' then ledger = value else processes[fields[i]] = value end
end
ledger = ledger or { epoch = request.newEpoch, now = 0, aheadMs = 0, pausedUntil = 0, recoveringSince = 0, recoveringUntil = 0 }

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
-- report what they hold, the ledger recovers: each gets no more than it held. If the last report of this process was such a
-- one, and not long ago, the others have had that time: a process whose replies are always late does not stop them.
local before = processes[this] or {}
local isDetached = request.knownEpoch and request.knownEpoch ~= ledger.epoch
if isDetached and not (before.mayUse and now - before.seen < limit.graceMs) then
  if ledger.recoveringUntil <= now then ledger.recoveringSince = now end
  ledger.recoveringUntil = now + limit.graceMs
end
local isRecovering = ledger.recoveringUntil > now

-- The report replaces what the ledger knew of this process.
local own = { seen = now, single = {}, bulk = {} }
processes[this] = own
for kind, delays in pairs(request.heldForMs) do
  for i, delay in ipairs(delays) do own[kind][i] = now + delay end
end
if isDetached then own.mayUse = math.max(1, #own.single + #own.bulk) end

local nextAt = isRecovering and ledger.recoveringUntil or now + limit.returnMs
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

local processCount, held, heldBulk, heldBy = 0, 0, 0, {}
local waiting, heldByWaiting = {}, 0
-- All that it wants, so that it is among those that wait. What is granted is subtracted below, before this is stored.
own.wanted = request.wanted.single + request.wanted.bulk
for name, process in pairs(processes) do
  local silentMs = now - process.seen
  if silentMs >= limit.holdMs then
    -- It is dead, and all its slots are free again.
    redis.call('HDEL', KEYS[1], name)
  else
    local bulk = countHeld(process.bulk)
    heldBy[name] = math.max(countHeld(process.single) + bulk, process.mayUse or 0)
    processCount, held, heldBulk = processCount + 1, held + heldBy[name], heldBulk + bulk
    if process.wanted > 0 and silentMs <= limit.graceMs then
      table.insert(waiting, name)
      heldByWaiting = heldByWaiting + heldBy[name]
    end
  end
end

local free = math.max(0, limit.requests - held)
local grantable = 0
if isRecovering then
  -- Each slot that it held may be granted to it again, so a busy process goes on.
  local hasReported = before.regrantable and before.seen >= ledger.recoveringSince
  own.regrantable = hasReported and before.regrantable or #own.single + #own.bulk
  grantable = own.regrantable - heldBy[this]
elseif own.wanted > 0 then
  -- Processes that wait get the same number, as far as they want it; what they do not want is for the others.
  local evenPart = (free + heldByWaiting) / #waiting
  local dueToOthers = 0
  for _, name in ipairs(waiting) do
    local due = name ~= this and math.min(processes[name].wanted, evenPart - heldBy[name]) or 0
    dueToOthers = dueToOthers + math.max(0, due)
  end
  -- Its even part, or what the others are not due: rounding must not leave a free slot to nobody.
  grantable = math.max(math.floor(evenPart - heldBy[this]), free - math.floor(dueToOthers))
end
grantable = isPaused and 0 or math.max(0, math.min(grantable, free))

-- Single calls first. Bulk calls that would need a reserved slot do not count as wanted, or it would be kept for them.
local wantedBulk = math.min(request.wanted.bulk, math.max(0, limit.bulk - heldBulk))
local single = math.min(grantable, request.wanted.single)
local bulk = math.min(grantable - single, wantedBulk)
-- Free one hold from now unless this process reports again: so come back the slots of one that is killed.
for _ = 1, single do table.insert(own.single, now + limit.holdMs) end
for _ = 1, bulk do table.insert(own.bulk, now + limit.holdMs) end
-- What it still lacks: the others take it into account at their exchanges.
own.wanted = request.wanted.single - single + wantedBulk - bulk

redis.call('HSET', KEYS[1], 'ledger', cjson.encode(ledger))
redis.call('HSET', KEYS[1], this, cjson.encode(own))
local pauseMs = math.max(0, ledger.pausedUntil - now)
redis.call('PEXPIRE', KEYS[1], string.format('%d', 2 * limit.holdMs + pauseMs + 10000))
return cjson.encode({
  epoch = ledger.epoch,
  pauseMs = pauseMs,
  granted = { single = single, bulk = bulk },
  free = free - single - bulk,
  nextMs = nextAt - now,
  processes = processCount,
})
`);
