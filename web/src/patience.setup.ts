import { configure } from '@testing-library/dom';

// What tests wait for comes at once. How long it may take is for machines that are busy with something else.
configure({ asyncUtilTimeout: 30_000 });
