// The one dock of the page, for the key that leads to it.

let dock: (() => void) | undefined;
let awaited = 0;

/** Says how the dock takes the focus, or moves on to its next ask when it has it. The result takes that back. */
export function registerDock(call: () => void): () => void {
  dock = call;
  return () => {
    if (dock === call) dock = undefined;
  };
}

/** Goes to the dock if there is one on the page. */
export function callDock(): boolean {
  dock?.();
  return dock !== undefined;
}

/** The person went to an ask whose dock is not there yet. */
export function awaitDock(): void {
  awaited = Date.now() + 5_000;
}

/** Whether a dock that appears now was gone to. */
export function awaitedFocus(): boolean {
  const asked = Date.now() < awaited;
  awaited = 0;
  return asked;
}
