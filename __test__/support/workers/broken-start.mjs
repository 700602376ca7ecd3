// A worker module whose handleStart rejects.
export async function handleStart() {
  throw new Error('handleStart rejects');
}
