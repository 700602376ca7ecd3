"""A script of Python's Redis client against the server on a port: prints its results as JSON."""

import json
import sys

import redis


def text(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [text(one) for one in value]
    if isinstance(value, dict):
        return {text(key): text(one) for key, one in value.items()}
    return value


def failed(call):
    try:
        return text(call())
    except redis.RedisError as error:
        return f"{type(error).__name__}: {error}"


def main():
    client = redis.Redis(port=int(sys.argv[1]))
    results = [
        client.ping(),
        client.set("k", "v"),
        client.set("k", "w", nx=True),
        client.get("k"),
        client.mset({"a": 1, "b": 2}),
        client.mget("a", "b", "c"),
        client.incr("n", 5),
        client.setnx("k", "x"),
        client.getdel("k"),
        client.delete("a", "b"),
        client.dbsize(),
        sorted(client.scan_iter("*")),
        failed(lambda: client.execute_command("GET")),
        failed(lambda: client.execute_command("NOSUCH", "a")),
        client.client_setname("me"),
        client.client_getname(),
        client.echo("x"),
    ]
    pipeline = client.pipeline(transaction=False)
    results.append(pipeline.set("p", 1).incr("p").get("p").execute())
    subscriber = client.pubsub()
    subscriber.subscribe("one", "two")
    subscriber.psubscribe("t*")
    received = [subscriber.get_message(timeout=10) for _ in range(3)]
    results.append([client.publish("one", "grüße"), client.publish("two", "x"), client.publish("three", "y")])
    received += [subscriber.get_message(timeout=10) for _ in range(4)]
    subscriber.unsubscribe("one")
    subscriber.punsubscribe()
    received += [subscriber.get_message(timeout=10) for _ in range(2)]
    results += [client.pubsub_channels(), client.pubsub_numsub("one", "two"), client.pubsub_numpat()]
    print(json.dumps(text([results, received])))


main()
