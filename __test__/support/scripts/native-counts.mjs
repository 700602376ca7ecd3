// How much there is of what the native side makes for JavaScript threads, in all of them.
import { binding } from '../../../js/dist/addon/binding.js';

export default function nativeCounts() {
  return binding().counts();
}
