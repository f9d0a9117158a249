/** The texts that pages for operators share. They are in English only; features add those of their own pages. */
export const operatorTexts = {
  'operator.sections': 'Admin pages',
  'operator.first': 'First page',
  'operator.next': 'Next page',
}
