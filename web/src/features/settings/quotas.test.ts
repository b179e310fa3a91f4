import { expect, test } from 'vitest';
import { monthLine, storageLine } from './quotas';

test('a month says what is spent of what, and when it ends', () => {
  const line = monthLine({
    name: '2026-11',
    ends: '2026-12-01T00:00:00Z',
    budget_micro_usd: 50_000_000,
    spent_micro_usd: 1_290_000,
  });
  expect(line).toContain('$1.29 of $50');
  expect(line).toContain('1');
});

test('storage says what is used of what, and what to do when it is full', () => {
  expect(storageLine({ used_bytes: 1_500_000, most_bytes: 100_000_000 })).toBe(
    '1.5 of 100 MB used by conversations.',
  );
  expect(storageLine({ used_bytes: 100_200_000, most_bytes: 100_000_000 })).toContain(
    'Delete some',
  );
});
