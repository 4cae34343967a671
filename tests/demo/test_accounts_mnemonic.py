"""The accounts of phrases, against those that other tools print."""

from wsnode.demo.accounts import ADDRESSES, MNEMONIC, SECRETS, derived, secrets

# Of twenty, the last, as hardhat prints it.
LAST = "8626f6940e2eb28930efb4cef49b2d1f2c9c1199"


def test_the_phrase_of_development_chains_has_the_accounts_that_everybody_knows() -> None:
    accounts = derived(MNEMONIC, 20)
    assert tuple(account.secret.hex() for account in accounts[:10]) == SECRETS
    assert tuple(account.address.hex() for account in accounts[:10]) == ADDRESSES
    assert accounts[-1].address.hex() == LAST


def test_another_phrase_has_other_accounts_whatever_the_space_between_its_words() -> None:
    # The first vector of BIP-39, whose first Ethereum account is widely printed.
    phrase = "abandon " * 11 + "about"
    assert derived(phrase, 1)[0].address.hex() == "9858effd232b4033e47d90003d41ec34ecaeda94"
    assert secrets(f"  {phrase.replace(' ', '  ')} ", 2) == secrets(phrase, 2)
