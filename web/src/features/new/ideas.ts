import type { Settings } from '../../api/installation';

/** What a person could ask for here. In the demo these are what its script plays. */
export function ideasFor(mode: Settings['mode'] | undefined): readonly string[] {
  if (mode === 'demo') {
    return [
      'Compare apples, pears and plums',
      'Add a discount to the shop, with tests',
      'Compare apples, pears and tomatoes, of which one has no notes',
    ];
  }
  return [
    'Review this branch from three angles: security, speed, clarity',
    'Map this codebase and draw its main parts',
    'Find what no test covers yet and write the three tests that matter most',
  ];
}
