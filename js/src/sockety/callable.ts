/** Objects that can be called, such as drafts and message handlers. */

/** A function with the prototype of its class, so that it has the class's members and `instanceof` works. */
class CallableObject {
  constructor(call: () => unknown) {
    // biome-ignore lint/correctness/noConstructorReturn: the object is the function
    return Object.setPrototypeOf(call, new.target.prototype) as CallableObject;
  }
}

Object.setPrototypeOf(CallableObject.prototype, Function.prototype);

/** The base of classes whose objects can be called. Its argument is the function that a call runs. */
export const Callable = CallableObject as unknown as new <Call extends (...given: never[]) => unknown>(
  call: Call,
) => Call;
