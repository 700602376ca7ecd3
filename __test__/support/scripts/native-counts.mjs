// The numbers of native objects of JavaScript threads, in all threads.
import { binding } from '../../../js/dist/addon/binding.js';

export default function nativeCounts() {
  return binding().counts();
}
