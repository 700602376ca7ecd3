// A worker module that handles nothing of a connection.
export function handleStart() {}
