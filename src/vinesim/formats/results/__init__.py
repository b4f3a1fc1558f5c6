"""Result folders: written whole, checked, read as tables; and what is made of them."""
