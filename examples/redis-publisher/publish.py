#!/usr/bin/env python3
"""Publishes figures of three sensors, for ever: python3 publish.py [port]

Needs nothing but a Redis client (pip install redis, or Debian's python3-redis).
"""

import json
import math
import sys
import time

try:
    import redis
except ImportError:
    sys.exit("There is no Redis client for Python: pip install redis")

SENSORS = ["inlet", "wheel", "outlet"]


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 6380
    client = redis.Redis(host="127.0.0.1", port=port, username="sensors", password="water")
    print(f"publishing to port {port}", flush=True)
    turn = 0
    while True:
        # three commands, one round trip
        pipeline = client.pipeline(transaction=False)
        for index, sensor in enumerate(SENSORS):
            litres = 100 + 20 * math.sin(turn / 10 + index)
            figures = {"sensor": sensor, "litres": round(litres, 1), "turn": turn}
            pipeline.publish(f"sensor:{sensor}", json.dumps(figures))
        pipeline.execute()
        turn += 1
        time.sleep(0.5)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, redis.exceptions.ConnectionError):
        pass
