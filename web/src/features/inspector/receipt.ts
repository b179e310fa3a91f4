// The claims of an agent, compared with its work, as the core writes them down (internal/agent/receipt).

export type Verdict = 'none' | 'verified' | 'unverified' | 'contradicted';

export interface Finding {
  kind: string;
  label: string;
  claim: string;
  verdict: Verdict;
  reason: string;
}

export interface Receipt {
  verdict: Verdict;
  claims: readonly Finding[];
  unclaimed: readonly string[];
  changed: readonly string[];
  read: readonly string[];
  commands: readonly { line: string; failed: boolean; end: string }[];
  pages: readonly string[];
  calls: number;
  tokens: number;
  duration: number;
}

export const verdictWords: Record<Verdict, string> = {
  none: 'Nothing to check',
  verified: 'Verified',
  unverified: 'Unverified',
  contradicted: 'Contradicted',
};

const labels: Record<string, string> = { modified: 'Modified', created: 'Created', tests: 'Tests' };

type Raw = Record<string, unknown>;
const isRaw = (value: unknown): value is Raw => typeof value === 'object' && value !== null;
const list = (value: unknown): Raw[] => (Array.isArray(value) ? value.filter(isRaw) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** A verdict that is not known counts for nothing: it must never look verified. */
const verdictOf = (value: unknown): Verdict =>
  value === 'verified' || value === 'contradicted' || value === 'none' ? value : 'unverified';

/** Reads a receipt; undefined if there is none. */
export function receiptOf(value: unknown): Receipt | undefined {
  if (!isRaw(value)) return undefined;
  const facts = isRaw(value.facts) ? value.facts : {};
  return {
    verdict: verdictOf(value.verdict),
    claims: list(value.claims).map((claim) => ({
      kind: text(claim.kind),
      label: labels[text(claim.kind)] ?? text(claim.kind),
      claim: text(claim.claim),
      verdict: verdictOf(claim.verdict),
      reason: text(claim.reason),
    })),
    unclaimed: Array.isArray(value.unclaimed) ? value.unclaimed.map(text) : [],
    changed: list(facts.changed).map((file) => text(file.path)),
    read: list(facts.read).map((file) => text(file.path)),
    commands: list(facts.commands).map(commandOf),
    pages: list(facts.pages).map((page) => `${number(page.status)} ${text(page.url)}`),
    calls: number(facts.calls),
    tokens: number(facts.tokens),
    duration: number(facts.duration_ms),
  };
}

function commandOf(command: Raw): Receipt['commands'][number] {
  const tests = isRaw(command.tests) ? command.tests : undefined;
  const counted = tests ? `, ${number(tests.passed)} passed, ${number(tests.failed)} failed` : '';
  const end = text(command.signal) || `exit code ${number(command.exit)}`;
  const failed = number(command.exit) !== 0 || text(command.signal) !== '';
  return { line: text(command.line), failed, end: end + counted };
}

/** Of more than this many of a kind the rest is counted. */
const SHOWN = 12;

/** What the run did, in lines. */
export function factLines(receipt: Receipt): { label: string; text: string }[] {
  const some = (label: string, all: readonly string[]) => {
    const lines = all.slice(0, SHOWN).map((each) => ({ label, text: each }));
    const left = all.length - lines.length;
    return left > 0 ? [...lines, { label, text: `… and ${left} more` }] : lines;
  };
  return [
    ...some('Changed', receipt.changed),
    ...some(
      'Ran',
      receipt.commands.map((command) => `${command.line} (${command.end})`),
    ),
    ...some('Fetched', receipt.pages),
    ...some('Read', receipt.read),
  ];
}
