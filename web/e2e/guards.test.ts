import assert from 'node:assert/strict';
import { stage } from './harness/scenario.ts';
import { violations } from './harness/shot.ts';
import { until } from './harness/until.ts';

const scenario = stage({ script: "name: guards\ndefault: {text: 'Heard.'}\n" });

scenario('what must not happen is noticed when it does', { gate: 'guards' }, async ({ visit }) => {
  const person = await visit();
  // All of it is wanted here, and nowhere else.
  person.expected.push(/./);
  const page = await person.tab('/new');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.evaluate(() => {
    void fetch('https://attacker.example/x').catch(() => undefined);
    setTimeout(() => {
      throw new Error('thrown on purpose');
    });
    const button = document.createElement('button');
    document.body.append(button);
    const frame = document.createElement('iframe');
    frame.src = 'https://attacker.example/';
    document.body.append(frame);
  });
  for (const kind of [
    /^policy: connect-src https:\/\/attacker/,
    /^policy: (frame|child|default)-src/,
    /^thrown: .*on purpose/,
    /^console: /,
  ]) {
    await until(`${kind} is noticed`, () => person.offences.some((each) => kind.test(each)));
  }
  const found = await violations(page);
  assert.ok(
    found.some((each) => each.startsWith('button-name')),
    'axe does not see a button without a name',
  );
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
});
