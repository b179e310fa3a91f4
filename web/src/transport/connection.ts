import { arrived, credentials } from '../api/credential';
import { ProblemError, problemOf, UnreachableError } from '../api/problem';
import { unauthorised } from '../api/request';
import { hearTime } from '../api/servertime';
import { type Frame, FrameReader } from './sse';

/** The server sends a comment every 15 seconds; who hears nothing for this long is cut off without knowing it. */
const SILENCE = 40_000;

/** How long the server may take to begin an answer. */
const OPENING = 10_000;

/** A stream that held this long is a good one: after it the waits begin anew. */
const LASTING = 3_000;

/**
 * The longest wait between two attempts. A server that is back is found within it, and a refused connection costs nobody
 * anything; one that has too much to do says itself how long to wait.
 */
const LONGEST = 2_000;

export type Phase = 'connecting' | 'open' | 'waiting' | 'ended';

/** How a stream is doing, for the banner. */
export interface ConnectionStatus {
  phase: Phase;
  /** When the next attempt is made, while waiting; in milliseconds since 1970. */
  retryAt: number | undefined;
  /** Why it ended for good, or why the last attempt failed. */
  error: unknown;
}

export interface ConnectionOptions {
  /** The address, asked anew for every attempt. */
  path: () => string;
  /** The id of the last event that is known, empty if none is. */
  lastId: () => string;
  onFrame: (frame: Frame) => void;
  onStatus: (status: ConnectionStatus) => void;
}

/** A stream that comes back after every break, until it is closed or the server says that there is nothing to come back to. */
export class Connection {
  private attempt = 0;
  private readonly ended = new AbortController();
  private hurry: (() => void) | undefined;
  private current: AbortController | undefined;
  /** How long the server asked to be left alone after a break. */
  private asked: number | undefined;

  constructor(private readonly options: ConnectionOptions) {
    void this.run();
  }

  close(): void {
    this.ended.abort();
    this.current?.abort();
    this.hurry?.();
  }

  /** Tries again at once, since a person asked for it or the network came back. */
  retryNow = (): void => this.hurry?.();

  private async run(): Promise<void> {
    addEventListener('online', this.retryNow);
    document.addEventListener('visibilitychange', this.lookedAt);
    while (!this.ended.signal.aborted) {
      let failure: unknown;
      try {
        await this.once();
      } catch (error) {
        failure = error;
      }
      if (this.ended.signal.aborted) break;
      if (failure instanceof ProblemError && failure.status === 401) {
        await arrived();
        continue;
      }
      if (isFinal(failure)) {
        this.say('ended', failure);
        break;
      }
      await this.wait(this.pause(failure), failure);
    }
    removeEventListener('online', this.retryNow);
    document.removeEventListener('visibilitychange', this.lookedAt);
  }

  /** The timers of a hidden page are slow; somebody who looks at it does not wait for them. */
  private lookedAt = (): void => {
    if (document.visibilityState === 'visible') this.retryNow();
  };

  /** How long to wait: as the server says, else longer each time up to a bound, and not everybody as long. */
  private pause(failure: unknown): number {
    if (failure instanceof ProblemError && failure.retryAfter) return failure.retryAfter;
    const wait = Math.min(LONGEST, (this.asked ?? 500) * 2 ** Math.min(this.attempt++, 6));
    return wait * (0.5 + Math.random() / 2);
  }

  /** One connection from its beginning to its end. */
  private async once(): Promise<void> {
    const current = new AbortController();
    this.current = current;
    this.say('connecting', undefined);
    let silence = setTimeout(() => current.abort(), OPENING);
    let opened = Number.POSITIVE_INFINITY;
    try {
      const body = await this.open(current.signal);
      opened = performance.now();
      this.say('open', undefined);
      const frames = new FrameReader();
      const reader = body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(() => current.abort(), SILENCE);
        for (const frame of frames.push(value)) this.options.onFrame(frame);
        this.asked = frames.retry ?? this.asked;
      }
    } catch (error) {
      if (!current.signal.aborted) throw error;
    } finally {
      clearTimeout(silence);
      current.abort();
      // One that is shut as soon as it is open must not be opened again and again without a pause.
      if (performance.now() - opened > LASTING) this.attempt = 0;
    }
  }

  private async open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const last = this.options.lastId();
    let answer: Response;
    try {
      answer = await fetch(this.options.path(), {
        headers: {
          ...credentials(),
          Accept: 'text/event-stream',
          ...(last ? { 'Last-Event-ID': last } : {}),
        },
        credentials: 'same-origin',
        cache: 'no-store',
        signal,
      });
    } catch (error) {
      throw signal.aborted ? error : new UnreachableError(error);
    }
    hearTime(answer);
    if (answer.ok && answer.body) return answer.body;
    const problem = await problemOf(answer);
    if (problem.status === 401) unauthorised();
    throw problem;
  }

  private wait(ms: number, error: unknown): Promise<void> {
    this.say('waiting', error, Date.now() + ms);
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => {
      this.hurry = undefined;
    });
  }

  private say(phase: Phase, error: unknown, retryAt?: number): void {
    this.options.onStatus({ phase, retryAt, error });
  }
}

/** Whether coming back is of no use: what is wrong is the request. */
function isFinal(error: unknown): boolean {
  return error instanceof ProblemError && error.status < 500 && error.status !== 429;
}
