import { encode } from 'uqr'
import { qrCode } from '../../lib/features/second-factor/qr-code.ts'

test('the path draws every dark module of the code, and no other', () => {
  const text = 'otpauth://totp/Acme:ada%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  const { size, path } = qrCode(text)
  const { data } = encode(text, { ecc: 'L', border: 4 })
  expect(size).toBe(data.length)
  const drawn = data.map((row) => row.map(() => false))
  for (const [, y = '', runs = ''] of path.matchAll(/M0 (\d+)\.5((?:m\d+ 0h\d+)*)/g)) {
    let at = 0
    for (const [, gap, length] of runs.matchAll(/m(\d+) 0h(\d+)/g)) {
      at += Number(gap)
      drawn[Number(y)]?.fill(true, at, at + Number(length))
      at += Number(length)
    }
  }
  expect(drawn).toEqual(data)
})
