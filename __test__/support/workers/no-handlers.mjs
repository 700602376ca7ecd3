// A worker module without handlers of connections.
export function handleStart() {}
