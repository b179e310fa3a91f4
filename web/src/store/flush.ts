// Tells those who watch that something changed: once per frame while the page is seen, and by a timer while it is
// hidden, since hidden pages get no frames.

/** Frames in a row are not all used: thirty times a second is as much as streaming text needs. */
const BETWEEN = 33;

/** So long before its time a frame is asked for, which then comes when it is due. */
const FRAME = 8;
const HIDDEN = 50;

export class Flush {
  private readonly listeners = new Set<() => void>();
  private planned = false;
  private last = 0;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Plans to tell everyone. However often it is called, they are told once. */
  plan(): void {
    if (this.planned) return;
    this.planned = true;
    const wait = BETWEEN - (performance.now() - this.last);
    if (document.visibilityState === 'hidden') setTimeout(this.now, HIDDEN);
    // A frame that is asked for and not used is drawn all the same.
    else if (wait > FRAME) setTimeout(() => requestAnimationFrame(this.now), wait - FRAME);
    else requestAnimationFrame(this.now);
    // A page that is hidden between the two would wait until it is seen again.
    setTimeout(this.now, BETWEEN * 10);
  }

  /** Tells everyone at once, for what a person just did. */
  now = (): void => {
    if (!this.planned) return;
    this.planned = false;
    this.last = performance.now();
    for (const listener of this.listeners) listener();
  };
}
