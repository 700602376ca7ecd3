// HTTP/2 settings for both sides, which allow hundreds of concurrent requests and pings in a session.
export const settings = { maxSessionMemory: 2_000, maxOutstandingPings: 1_000 };
