import type { Problem } from './types';

/** Why a request was not carried out. `next` says what to do about it. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  constructor(
    readonly problem: Problem,
    readonly retryAfter: number | undefined,
  ) {
    super(problem.detail ?? problem.title);
  }
  get code(): string {
    return this.problem.code;
  }
  get status(): number {
    return this.problem.status;
  }
}

/** The server could not be reached. What was sent may have been carried out. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  constructor(cause: unknown) {
    super('The server cannot be reached', { cause });
  }
}

/** Reads the problem of an answer that is not good, whatever its body is. */
export async function problemOf(answer: Response): Promise<ProblemError> {
  const wait = Number(answer.headers.get('Retry-After'));
  const after = wait > 0 ? wait * 1000 : undefined;
  try {
    const problem = (await answer.json()) as Problem;
    if (typeof problem.code === 'string') return new ProblemError(problem, after);
  } catch {
    // A proxy answered, or nobody: the status is all there is.
  }
  const code = answer.status >= 500 ? 'unavailable' : 'internal';
  const title = answer.statusText || `status ${answer.status}`;
  return new ProblemError({ type: 'about:blank', title, status: answer.status, code }, after);
}

/** Two sentences for people: what happened, and what to do. */
export function explain(error: unknown): { what: string; next: string } {
  if (error instanceof ProblemError) {
    return { what: error.message, next: error.problem.next ?? '' };
  }
  if (error instanceof UnreachableError) {
    return { what: error.message, next: 'Nothing is lost. It is tried again by itself.' };
  }
  return { what: error instanceof Error ? error.message : String(error), next: '' };
}

/** Whether the same command may be sent again: it is not known, or known not, to have been carried out. */
export function transient(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  return error instanceof ProblemError && (error.status >= 500 || error.status === 429);
}
