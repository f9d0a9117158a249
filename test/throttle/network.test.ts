import { networkOf, shownNetwork } from '../../lib/limits/network.ts'

test.each([
  ['198.51.100.7', '198.51.100.7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::5', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['not an address', 'unknown'],
  ['', 'unknown'],
])('the address %j counts as %j', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each([
  ['::1', '::/64'],
  ['2001:db8::5', '2001:db8::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['198.51.100.7', '198.51.100.7'],
  ['', 'unknown'],
])('people read the network of %j as %j', (address, network) => {
  expect(shownNetwork(networkOf(address))).toBe(network)
})
