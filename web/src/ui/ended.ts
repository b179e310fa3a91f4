// Why something ended that should not have, in a sentence.

const byReason: Record<string, string> = {
  budget: 'It used up its budget.',
  iterations: 'It used all its steps.',
  loop: 'It made the same call over and over.',
  failures: 'Too many of its calls failed in a row.',
  malformed: 'Its calls could not be read.',
  denials: 'Too many of its calls were denied.',
  time: 'It reached its time limit.',
  history: 'Its record grew too long to go on.',
  no_evidence: 'What it claims is not borne out by what it did.',
  empty: 'The model gave no answer.',
  unanswered: 'Its questions were not answered.',
};

const byKind: Record<string, string> = {
  auth: 'The model provider refused the key: check it in the settings.',
  rate_limit: 'The model provider asked to slow down for too long.',
  network: 'The model provider could not be reached.',
  server_error: 'The model provider failed.',
  invalid_request: 'The model provider refused the request.',
  content_filter: 'The model declined to answer.',
  context_exhausted: 'It has read more than the model can keep in mind.',
  timed_out: 'It reached its time limit.',
  max_iterations: 'It used all its steps.',
  budget_exceeded: 'A budget is used up: its own, or that of the month.',
  sub_agent_error: 'It gave up.',
  spawn_failed: 'It could not be started.',
  no_result: 'The model gave no answer.',
  invalid_result: 'Its report was not in the form that was asked for.',
  question_limit: 'It asked more questions than it may.',
  internal: 'Something went wrong inside of Retinue: its log says what.',
};

/** Says why, of a reason and a kind as the wire has them; what is not known is said as it is. */
export function whyEnded(kind: string | undefined, reason?: string): string {
  const known = (reason && byReason[reason]) || (kind && byKind[kind]);
  return known || (reason || kind || '').replaceAll('_', ' ');
}
