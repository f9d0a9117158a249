/** The texts that pages for operators share. They are in English only; features add those of their own pages. */
export const operatorTexts = {
  'operator.area': 'Admin',
  'operator.actor': 'Administrator',
  'operator.issuer': 'Issuer',
  'operator.development': 'Development',
  'operator.sections': 'Admin pages',
  'operator.first': 'First page',
  'operator.previous': 'Previous page',
  'operator.next': 'Next page',
}
