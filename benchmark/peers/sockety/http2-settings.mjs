// What both sides of HTTP/2 need so that hundreds of requests and pings of a session can be under way.
export const settings = { maxSessionMemory: 2_000, maxOutstandingPings: 1_000 };
