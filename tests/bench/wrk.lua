-- Arguments: a file with a line "KEY CHANNEL" for each sender, the first digits of all contacts, how many requests to
-- prepare, how many messages each has. What costs wrk time is done before it begins.
local requests, count = {}, 0

function init(args)
  local senders = {}
  for line in io.lines(args[1]) do senders[#senders + 1] = { line:match('(%S+) (%S+)') } end
  local messages = tonumber(args[4])
  for i = 1, tonumber(args[3]) do
    local key, channel = unpack(senders[(i - 1) % #senders + 1])
    local headers = { ['Authorization'] = 'Bearer ' .. key, ['Content-Type'] = 'application/json' }
    local bodies = {}
    for n = 1, messages do
      bodies[n] = string.format(
        '{"channelId":"%s","contact":{"value":"+%s%07d"},"message":{"type":"text","text":{"value":"Hello"}}}',
        channel, args[2], (i - 1) * messages + n)
    end
    if messages == 1 then
      requests[i] = wrk.format('POST', '/v1/messages', headers, bodies[1])
    else
      local batch = '{"messages":[' .. table.concat(bodies, ',') .. ']}'
      requests[i] = wrk.format('POST', '/v1/messages/batch', headers, batch)
    end
  end
end

function request()
  count = count % #requests + 1
  return requests[count]
end

function done(summary, latency, _)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('{"count":%d,"failed":%d,"micros":%d,"p50":%d,"p99":%d}\n',
    summary.requests, failed, summary.duration, latency:percentile(50), latency:percentile(99)))
end
