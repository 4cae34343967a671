#!/bin/sh
# load.sh URL [URL2]: a load tester's first hour. LOAD_SECONDS (30) is the time of each measurement, and
# LOAD_RATES (1000..8000/8) the rates of the ramp, in requests a second.
set -eu

url=$1
other=${2:-}
seconds=${LOAD_SECONDS:-30}
rates=${LOAD_RATES:-1000..8000/8}
against=${other:+--against $other}
mkdir -p load

# 1. As fast as both can: the node's limit, or the client's.
wsnode bench mix "$url" --seconds "$seconds" --html load/limit.html

# 2. The rates that you expect: how long clients wait then.
wsnode bench mix "$url" --ramp "rate=$rates" --seconds "$seconds" --p99-limit 50 --html load/ramp.html

# 3. Subscribers, and many clients that come at once.
wsnode bench lag "$url" --subscribe newHeads --subscribe logs --seconds "$seconds" --html load/lag.html
wsnode bench storm "$url" --connections 500 --hold 2 --html load/storm.html

# 4. The same questions to both nodes, in turns. ($against is two words, or none.)
if [ -n "$against" ]; then
  wsnode bench mix "$url" $against --seconds "$seconds" --html load/against.html
fi
