import { expect, test } from 'vitest';
import { whyEnded } from './ended';

test('a reason says more than a kind, and what nobody knows is said as it is', () => {
  expect(whyEnded('max_iterations', 'loop')).toBe('It made the same call over and over.');
  expect(whyEnded('max_iterations', '')).toBe('It used all its steps.');
  expect(whyEnded('budget_exceeded', 'budget')).toBe('It used up its budget.');
  expect(whyEnded('budget_exceeded')).toBe('A budget is used up: its own, or that of the month.');
  expect(whyEnded('moon_phase')).toBe('moon phase');
  expect(whyEnded('internal', 'The disk is full')).toBe(
    'Something went wrong inside of Retinue: its log says what.',
  );
  expect(whyEnded(undefined)).toBe('');
});
