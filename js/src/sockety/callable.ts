/** Objects that can be called, as drafts and message handlers are. */

/** A function that has the prototype of its class, so that its members are there and `instanceof` holds. */
class CallableObject {
  constructor(call: () => unknown) {
    // biome-ignore lint/correctness/noConstructorReturn: the object is the function
    return Object.setPrototypeOf(call, new.target.prototype) as CallableObject;
  }
}

Object.setPrototypeOf(CallableObject.prototype, Function.prototype);

/** The base of classes whose objects can be called. It is given what a call does. */
export const Callable = CallableObject as unknown as new <Call extends (...given: never[]) => unknown>(
  call: Call,
) => Call;
