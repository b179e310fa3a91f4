import { duration, money } from '../../ui/format';

/** One value of a role, for people. */
export interface ConfigValue {
  label: string;
  value: string;
  /** Where it came from; "default" if nothing names it. */
  origin: string;
}

type Raw = Record<string, unknown>;

interface Field {
  label: string;
  /** The name that role files know it by, which is what origins are listed under. */
  field: string;
  show: (role: Raw, limits: Raw) => string;
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
const names = (value: unknown): string => (Array.isArray(value) ? value.map(text).join(', ') : '');
const yes = (value: unknown): string => (value === true ? 'Yes' : 'No');
const time = (value: unknown): string => (typeof value === 'number' ? limit(value) : '');

/** A limit in as few letters as it takes: "5m", not "5m 00s". */
export const limit = (ms: number): string => duration(ms).replace(/ 0?0[smh]$/, '');

function rules(value: unknown): string {
  if (!Array.isArray(value)) return '';
  return (value as Raw[])
    .map((rule) => {
      const pattern = text(rule.pattern);
      return `${text(rule.tool)}${pattern ? ` ${pattern}` : ''}: ${text(rule.verdict)}`;
    })
    .join('\n');
}

const fields: readonly Field[] = [
  { label: 'Description', field: 'description', show: (role) => text(role.description) },
  { label: 'Model', field: 'model', show: (role) => text(role.model) },
  { label: 'Falls back to', field: 'fallback', show: (role) => names(role.fallback) },
  { label: 'Effort', field: 'effort', show: (role) => text(role.effort) },
  { label: 'Temperature', field: 'temperature', show: (role) => text(role.temperature) },
  { label: 'Tools', field: 'tools', show: (role) => names(role.tools) },
  { label: 'Rules', field: 'permission', show: (role) => rules(role.rules) },
  { label: 'Delegates to', field: 'can_delegate_to', show: (role) => names(role.delegates) },
  { label: 'May ask', field: 'can_ask', show: (role) => yes(role.can_ask) },
  { label: 'Evidence', field: 'evidence', show: (role) => (role.evidence ? 'Required' : '') },
  { label: 'Files', field: 'isolation', show: (role) => text(role.isolation) },
  { label: 'Context', field: 'context', show: (role) => text(role.context) },
  { label: 'Done when', field: 'success_criteria', show: (role) => text(role.success_criteria) },
  { label: 'Steps', field: 'max_iterations', show: (_, limits) => text(limits.iterations) },
  { label: 'Time', field: 'max_duration', show: (_, limits) => time(limits.time) },
  {
    label: 'Cost',
    field: 'max_cost_usd',
    show: (_, limits) => (typeof limits.cost === 'number' ? money(limits.cost) : ''),
  },
  { label: 'Tokens', field: 'max_tokens', show: (_, limits) => text(limits.tokens) },
  { label: 'Depth', field: 'max_depth', show: (_, limits) => text(limits.depth) },
  { label: 'Agents', field: 'max_agents', show: (_, limits) => text(limits.agents) },
  { label: 'At once', field: 'max_parallel', show: (_, limits) => text(limits.slots) },
  { label: 'Questions', field: 'max_questions', show: (_, limits) => text(limits.questions) },
  {
    label: 'Approvals wait',
    field: 'approval_time',
    show: (_, limits) => time(limits.approval_time),
  },
  {
    label: 'Questions wait',
    field: 'question_time',
    show: (_, limits) => time(limits.question_time),
  },
];

const isRaw = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The values of a role as it was kept. Those that are not set are left out. */
export function valuesOf(
  role: unknown,
  origins: Record<string, string> | undefined,
): ConfigValue[] {
  if (!isRaw(role)) return [];
  const limits = isRaw(role.limits) ? role.limits : {};
  return fields
    .map(({ label, field, show }) => ({
      label,
      value: show(role, limits),
      // Where nothing is known of origins, nothing may be claimed.
      origin: origins ? (origins[field] ?? 'default') : '',
    }))
    .filter(({ value }) => value !== '');
}

/** The prompt of a role. */
export const promptOf = (role: unknown): string => (isRaw(role) ? text(role.prompt) : '');
