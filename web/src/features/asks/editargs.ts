// Arguments that a person changes. Every value keeps the type that it had: a number stays a number.

/**
 * Whether arguments can be changed here: not those of a merge, which shows more than its arguments, and not those with a
 * number that a page cannot hold to the last digit.
 */
export const editable = (tool: string, args: Record<string, unknown>): boolean =>
  tool !== 'merge_patch' && holds(args);

function holds(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(holds);
}

export type Kind = 'text' | 'number' | 'switch' | 'json';

export interface Field {
  name: string;
  kind: Kind;
  /** As it stands in the form. */
  text: string;
  was: unknown;
}

const kindOf = (value: unknown): Kind => {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'number') return 'number';
  return typeof value === 'boolean' ? 'switch' : 'json';
};

const written = (value: unknown, kind: Kind): string =>
  kind === 'json' ? JSON.stringify(value, null, 2) : String(value);

export const fieldsOf = (args: Record<string, unknown>): Field[] =>
  Object.entries(args).map(([name, was]) => {
    const kind = kindOf(was);
    return { name, kind, was, text: written(was, kind) };
  });

/** The value of a field, or what is wrong with it. */
export function readField(field: Field): { value: unknown } | { problem: string } {
  const { kind, text, was } = field;
  if (text === written(was, kind)) return { value: was };
  switch (kind) {
    case 'text':
      return { value: text };
    case 'switch':
      return { value: text === 'true' };
    case 'number': {
      const value = Number(text);
      if (text.trim() === '' || !Number.isFinite(value))
        return { problem: 'This must be a number' };
      if (Number.isInteger(was) && !Number.isInteger(value)) {
        return { problem: 'This must be a whole number' };
      }
      return { value };
    }
    case 'json':
      return jsonOf(text, was);
  }
}

function jsonOf(text: string, was: unknown): { value: unknown } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'This is no JSON' };
  }
  if (was === null) return { value };
  if (Array.isArray(was) && !Array.isArray(value)) return { problem: 'This must be a list' };
  const object = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!Array.isArray(was) && !object) return { problem: 'This must be an object' };
  return { value };
}

export interface Edited {
  args: Record<string, unknown>;
  problems: Record<string, string>;
  changed: boolean;
}

/** All fields together. */
export function readFields(fields: readonly Field[]): Edited {
  const out: Edited = { args: {}, problems: {}, changed: false };
  for (const field of fields) {
    const read = readField(field);
    if ('problem' in read) out.problems[field.name] = read.problem;
    else out.args[field.name] = read.value;
    if (field.text !== written(field.was, field.kind)) out.changed = true;
  }
  return out;
}
